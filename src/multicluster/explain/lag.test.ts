import assert from 'node:assert/strict';
import { test } from 'node:test';
import { triggerTimeAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import { merge } from '../merge/merge.ts';
import { emptyMember, now, settle } from '../project/testing/actual.ts';
import type { Actual } from '../project/desired.ts';
import { diff } from '../project/diff.ts';
import { project } from '../project/project.ts';
import type { ClusterExport } from '../record.ts';
import { endpoint, member, record, service, sourceSlice, web } from '../testing/records.ts';
import { waitingSince } from './lag.ts';

const target = {
  member: member('north'),
  vip: { state: 'reserved', ips: ['241.0.0.1'], families: ['IPv4'] },
} as const;

/** The time since which a member with these objects has waited for an export. */
function since(exported: ClusterExport, actual: Actual): string | undefined {
  const merged = merge(web, [exported]);
  const time = waitingSince(merged, diff(project(merged, { ...target, actual }), actual, { now }).writes);
  return time === undefined ? undefined : new Date(time).toISOString();
}

/** The export of a cluster with one slice whose endpoint changed at a time. */
function exporting(address: string, changedAt?: string): ClusterExport {
  const slice = sourceSlice('a', { endpoints: [endpoint(address)] });
  const annotations = changedAt === undefined ? {} : { [triggerTimeAnnotation]: changedAt };
  return record('east', { day: 2, slices: [{ ...slice, metadata: { ...slice.metadata, annotations } }] });
}

const before = settle(merge(web, [exporting('10.0.0.1')]), { ...target, actual: emptyMember }).actual;
const changed = '2026-02-01T10:00:00.25Z';

const cases: readonly { name: string; given: [ClusterExport, Actual]; want: string | undefined }[] = [
  { name: 'no pending write', given: [exporting('10.0.0.1', changed), before], want: undefined },
  {
    name: 'an endpoint: since it changed',
    given: [exporting('10.0.0.2', changed), before],
    want: '2026-02-01T10:00:00.250Z',
  },
  { name: 'an endpoint without a time: unknown', given: [exporting('10.0.0.2'), before], want: undefined },
  {
    name: 'an import: since the export',
    given: [exporting('10.0.0.1'), emptyMember],
    want: '2026-01-02T00:00:00.000Z',
  },
  {
    name: 'an import: since the Service if that is newer',
    given: [
      { ...exporting('10.0.0.1'), service: service({}, { creationTimestamp: '2026-01-03T00:00:00Z' }) },
      emptyMember,
    ],
    want: '2026-01-03T00:00:00.000Z',
  },
];
for (const { name, given, want } of cases) test(`lag: ${name}`, () => assert.equal(since(...given), want));
