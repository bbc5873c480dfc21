import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installDefinitions, unreadableReason } from './unreadable.ts';

test('installDefinitions names the context if there is one', () => {
  assert.equal(installDefinitions(), 'kubectl apply -f examples/multicluster/definitions.yaml');
  assert.equal(installDefinitions('west'), 'kubectl --context west apply -f examples/multicluster/definitions.yaml');
});

test('unreadableReason names what has to be changed', () => {
  const excess = new Error('more than 10 objects');
  const reason = (caches: { excess?: Error; lacksKinds: boolean }) =>
    unreadableReason({ id: 'west', caches: { excess: undefined, ...caches } });
  assert.equal(reason({ lacksKinds: false }), undefined);
  assert.match(
    reason({ lacksKinds: true }) ?? '',
    /^cluster west serves neither kind of ServiceExport: install the CRDs /,
  );
  assert.match(reason({ lacksKinds: false, excess }) ?? '', /^cluster west is not read: more than 10 objects; raise /);
});
