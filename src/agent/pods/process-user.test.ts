import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { processUser } from './process-user.ts';

const root = { uid: 0, gid: 0 };
const person = { uid: 1000, gid: 1000 };
const userOf = (agent: typeof root, ofPod: object | undefined, own: object | undefined) =>
  processUser(
    { spec: { securityContext: ofPod } } as unknown as Pod,
    { name: 'c', ...(own && { securityContext: own }) } as never,
    agent,
  );

test('the user of a container precedes that of its Pod, and only root may switch', () => {
  assert.equal(userOf(root, undefined, undefined), undefined);
  assert.deepEqual(userOf(root, { runAsUser: 5 }, undefined), { uid: 5, gid: 5, groups: [] });
  assert.deepEqual(userOf(root, { runAsUser: 5, runAsGroup: 6 }, { runAsUser: 7 }), { uid: 7, gid: 6, groups: [] });
  assert.equal(userOf(person, { runAsUser: 1000 }, undefined), undefined);
  assert.deepEqual(userOf(root, { supplementalGroups: [8, 9], fsGroup: 9 }, undefined), {
    uid: 0,
    gid: 0,
    groups: [8, 9],
  });
  assert.throws(() => userOf(person, { fsGroup: 9 }, undefined), /may not start processes with groups 9/);
  assert.throws(() => userOf(person, { runAsUser: 0 }, undefined), /may not start processes as user 0/);
  assert.throws(() => userOf(root, { runAsNonRoot: true }, undefined), /container has runAsNonRoot/);
  assert.equal(userOf(person, { runAsNonRoot: true }, undefined), undefined);
});
