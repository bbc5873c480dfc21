import { serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { Key } from '../../client/key.ts';
import type { Dropped } from '../guard/policy.ts';
import type { Merged } from '../merge/merged.ts';
import type { Member } from '../member/member.ts';
import type { Write } from '../project/desired.ts';
import type { Progress } from '../project/exports.ts';
import { diffExports } from '../project/exports.ts';
import { exportFinalizer } from '../project/marks.ts';

export interface ExportsInput {
  readonly key: Key;
  /** The service as it is now: an export that is deleted while it is told must not be let go for what it was before. */
  readonly merged: () => Merged;
  /** The cluster whose exports are told. */
  readonly member: Member;
  readonly progress: () => Progress;
  /** What of this cluster is left out of the service. */
  readonly dropped: readonly Dropped[];
  readonly onWrite: (write: Write) => void;
}

/** The finalizer, then the conditions. */
const mostSteps = 3;

/** Tells the exports of a cluster how far the service has come. */
export async function tellExports(input: ExportsInput, signal: AbortSignal): Promise<void> {
  const { key, member, progress, dropped, onWrite } = input;
  for (let step = 0; step < mostSteps; step++) {
    const merged = input.merged();
    const exporter = merged.exporters.find(({ cluster }) => cluster === member.id);
    const record = member.record(key);
    if (exporter === undefined || record === undefined) return;
    const known = progress();
    const writes = diffExports(merged, { ...exporter, record }, known);
    if (step === 0) member.notices.droppedFrom(record, dropped);
    if (writes.length === 0) return;
    for (const write of writes) {
      await member.apply(write, signal);
      onWrite(write);
      if (write.verb === 'updateStatus') member.notices.toldExport(write.kind, { record, now: write.object }, known);
    }
  }
}

/** Lets go of the exports of a cluster that leaves: nobody would remove the finalizer afterwards. */
export async function releaseExports(member: Member, key: Key, signal: AbortSignal): Promise<void> {
  const { seedExport, currentExport } = member.record(key) ?? {};
  for (const [kind, object] of [
    [superclusterExportKind, seedExport],
    [serviceExportKind, currentExport],
  ] as const) {
    const { finalizers = [] } = object?.metadata ?? {};
    if (object === undefined || !finalizers.includes(exportFinalizer)) continue;
    const metadata = { ...object.metadata, finalizers: finalizers.filter((each) => each !== exportFinalizer) };
    await member.apply({ verb: 'update', kind, object: { ...object, metadata } }, signal);
  }
}
