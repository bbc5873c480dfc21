import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Client } from '../../client/client.ts';
import type { ApiRequest } from '../../client/transport.ts';
import type { Resource } from './rights.ts';
import { allRights, noRights } from './rights.ts';
import { TokenViewer } from './token-viewer.ts';

/** An API server that only reviews access. `rules` are `namespace/resource`; namespace '' allows all. */
function reviewer(rules: ReadonlySet<string>) {
  const reviews: string[] = [];
  const state: { failure: Error | undefined; isRejecting: boolean } = { failure: undefined, isRejecting: false };
  const transport = {
    async request({ path, body }: ApiRequest) {
      if (state.failure !== undefined) throw state.failure;
      if (state.isRejecting) return { status: 401, headers: {}, body: '{}' };
      assert.equal(path, '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews');
      const review = JSON.parse(String(body)) as {
        readonly spec: { readonly resourceAttributes: Readonly<Record<string, string>> };
      };
      const { namespace = '', resource = '', verb } = review.spec.resourceAttributes;
      assert.equal(verb, 'list');
      reviews.push(`${namespace}/${resource}`);
      const allowed = rules.has(`/${resource}`) || rules.has(`${namespace}/${resource}`);
      return { status: 201, headers: {}, body: JSON.stringify({ ...review, status: { allowed } }) };
    },
    stream: () => assert.fail('no watch'),
    [Symbol.dispose]: () => undefined,
  };
  return { reviews, state, client: new Client(transport) };
}

const kindsOf = (resource: Resource) => [{ group: '', plural: resource }];

function viewerOf(...rules: readonly string[]) {
  const time = { ms: 0 };
  const allowed = new Set(rules);
  const server = reviewer(allowed);
  const clock = { elapsed: () => time.ms };
  const viewer = new TokenViewer([{ name: 'east', client: server.client, kindsOf }], { clock, freshMs: 10_000 });
  return { ...server, viewer, allowed, time };
}

test('nothing is visible before a review, then what the cluster allows in each namespace', async () => {
  const { viewer } = viewerOf('shop/services', 'shop/events');
  assert.deepEqual(viewer.rightsIn('east', 'shop'), noRights);
  assert.deepEqual(viewer.rightsIn('west', 'shop'), noRights);
  assert.equal(await viewer.review(), true);
  assert.deepEqual(viewer.rightsIn('east', 'shop'), { ...noRights, services: true, events: true });
  assert.deepEqual(viewer.rightsIn('east', 'other'), noRights);
  assert.equal(viewer.hasUnknown, true, 'namespace other was requested');
  assert.equal(await viewer.review(), false, 'nothing is allowed there');
  assert.equal(viewer.hasUnknown, false);
  assert.deepEqual([viewer.sees('east'), viewer.sees('west')], [true, false]);
});

test('who may list everything is reviewed once for all namespaces', async () => {
  const { viewer, reviews } = viewerOf(...Object.keys(allRights).map((resource) => `/${resource}`));
  for (const namespace of ['a', 'b', 'c']) viewer.rightsIn('east', namespace);
  await viewer.review();
  assert.equal(viewer.rightsIn('east', 'd'), allRights);
  assert.deepEqual(
    reviews.toSorted(),
    Object.keys(allRights)
      .map((resource) => `/${resource}`)
      .toSorted(),
  );
});

test('a decision is reused for 10 seconds; a right that ended is noticed after that', async () => {
  const { viewer, reviews, time, allowed } = viewerOf('shop/services');
  viewer.rightsIn('east', 'shop');
  await viewer.review();
  allowed.clear();
  time.ms = 9_999;
  reviews.length = 0;
  assert.equal(await viewer.review(), false);
  assert.deepEqual(reviews, []);
  time.ms = 10_000;
  assert.equal(await viewer.review(), true);
  assert.deepEqual(viewer.rightsIn('east', 'shop'), noRights);
});

test('concurrent reviews are one, and ask about what rows are made of first', async () => {
  const { viewer, reviews } = viewerOf();
  await Promise.all([viewer.review(), viewer.review(), viewer.review()]);
  assert.deepEqual(reviews, ['/services', '/serviceimports']);
});

test('a cluster that does not answer keeps its last decisions for five minutes', async () => {
  const { viewer, state, time } = viewerOf('shop/services');
  viewer.rightsIn('east', 'shop');
  await viewer.review();
  state.failure = new Error('connect ECONNREFUSED');
  time.ms = 5 * 60_000;
  assert.equal(await viewer.review(), false);
  assert.equal(viewer.rightsIn('east', 'shop').services, true);
  time.ms++;
  assert.deepEqual(viewer.rightsIn('east', 'shop'), noRights);
  assert.equal(viewer.isValid, true);
});

test('a cluster that rejects the token is no longer visible, and a viewer without clusters is signed out', async () => {
  const { viewer, state, time } = viewerOf('shop/services');
  await viewer.review();
  state.isRejecting = true;
  time.ms = 10_000;
  assert.equal(await viewer.review(), true);
  assert.deepEqual([viewer.sees('east'), viewer.isValid], [false, false]);
});

test('keeps a bounded number of namespaces', () => {
  const { viewer } = viewerOf();
  for (let index = 0; index < 30_000; index++) viewer.rightsIn('east', `n${index}`);
  assert.deepEqual(viewer.rightsIn('east', 'n29999'), noRights);
});
