import type { Kind } from '../../api/kind.ts';
import { serviceExportAlphaKind, serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import type { McsVersion, ServiceExport } from '../../api/kinds/multicluster/serviceexport/schema.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';

/** The kinds of today's shape in one version. */
export interface CurrentKinds {
  readonly version: McsVersion;
  readonly exports: Kind<ServiceExport>;
  readonly imports: Kind<ServiceImport>;
}

/** The newest version, which everything is decided in. */
export const newestKinds: CurrentKinds = { version: 'v1beta1', exports: serviceExportKind, imports: serviceImportKind };

/** The versions that a member may serve, newest first. They have the same fields, and are views of the same objects. */
export const currentVersions: readonly CurrentKinds[] = [
  newestKinds,
  { version: 'v1alpha1', exports: serviceExportAlphaKind, imports: serviceImportAlphaKind },
];

/** A kind as it is served where today's shape is served in this version; other kinds are as they are. */
export function servedAs(kind: Kind, { exports, imports }: CurrentKinds): Kind {
  if (kind === newestKinds.exports) return exports;
  return kind === newestKinds.imports ? imports : kind;
}
