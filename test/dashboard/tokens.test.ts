import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { withoutChromium } from './browser.ts';
import { signInWithTokens } from './tokens.ts';

test('people sign in with a token, and see what the cluster lets them list', { skip: withoutChromium }, async () => {
  await using directory = await temporaryDirectory();
  const { path } = directory;
  const [kubectl] = await findKubectls();
  await using up = await startFairlead(path, ['up', '--cluster', 'east', '--parts', 'server,controllers']);
  const { kubeconfig } = up;
  assert.ok(kubectl !== undefined);
  const desk = { kubectl: kubectl.path, kubeconfig, dashboardKubeconfig: kubeconfig };
  await signInWithTokens({ ...desk, directory: path, cluster: 'east' });
});
