import { exportFinalizer, isOurs, isOurSlice } from '../project/labels.ts';
import type { MemberCaches } from './caches.ts';

/** Whether a cluster still has imports or slices of the set, or exports that the controller has not released. */
export const hasRemains = ({ caches }: { readonly caches: MemberCaches }): boolean =>
  [...caches.serviceImports.list(), ...caches.importedServices.list()].some(isOurs) ||
  caches.slices.list().some(isOurSlice) ||
  [...caches.superclusterExports.list(), ...caches.serviceExports.list()].some(
    ({ metadata }) => metadata.finalizers?.includes(exportFinalizer) === true,
  );
