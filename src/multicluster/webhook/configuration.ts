import type { ValidatingWebhookConfiguration } from '../../api/kinds/admissionregistration/validatingwebhookconfiguration/schema.ts';
import { serviceExportAlphaKind, serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import { managedBy, objectManagedByLabel } from '../project/labels.ts';

/** The name of the configuration in every member; RBAC rules contain it. */
export const configurationName = 'fairlead-multicluster';

/** How long an API server waits for warnings. */
const timeoutSeconds = 3;

/** The configuration that sends exports of a member to the webhook, and ignores failures. */
export function configurationOf({
  url,
  ca,
}: {
  readonly url: string;
  /** The certificate authorities of the webhook, PEM. */
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
        matchPolicy: 'Exact', // the rules list all versions
        sideEffects: 'None',
        timeoutSeconds,
        admissionReviewVersions: ['v1'],
      },
    ],
  };
}
