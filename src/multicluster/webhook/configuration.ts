import type { ValidatingWebhookConfiguration } from '../../api/kinds/admissionregistration/validatingwebhookconfiguration/schema.ts';
import { serviceExportAlphaKind, serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import { managedBy, objectManagedByLabel } from '../project/marks.ts';

/** What the configuration is called in every member; rights are given for this name. */
export const configurationName = 'fairlead-multicluster';

/** Nobody waits longer for advice. */
const timeoutSeconds = 3;

/** What makes the server of a member ask about exports, and go on without an answer. */
export function configurationOf({
  url,
  ca,
}: {
  readonly url: string;
  /** The authorities that its certificate is signed by, PEM. */
  readonly ca: string;
}): ValidatingWebhookConfiguration {
  const exportKinds = [superclusterExportKind, serviceExportKind, serviceExportAlphaKind];
  return {
    metadata: { name: configurationName, labels: { [objectManagedByLabel]: managedBy } },
    webhooks: [
      {
        name: 'exports.multicluster.fairlead.dev',
        clientConfig: { url, caBundle: Buffer.from(ca).toString('base64') },
        rules: exportKinds.map(({ group, version, plural }) => ({
          operations: ['CREATE'],
          apiGroups: [group],
          apiVersions: [version],
          resources: [plural],
          scope: 'Namespaced' as const,
        })),
        failurePolicy: 'Ignore',
        matchPolicy: 'Exact', // every version is named
        sideEffects: 'None',
        timeoutSeconds,
        admissionReviewVersions: ['v1'],
      },
    ],
  };
}
