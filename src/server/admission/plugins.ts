/** The admission plugins of this server, by kube-apiserver's names and in its order. */
export const pluginNames = [
  'NamespaceLifecycle',
  'LimitRanger',
  'Priority',
  'DefaultTolerationSeconds',
  'DefaultStorageClass',
  'RuntimeClass',
  'CertificateApproval',
  'CertificateSigning',
  'CertificateSubjectRestriction',
  'DefaultIngressClass',
  'DenyServiceExternalIPs',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
] as const;

export type PluginName = (typeof pluginNames)[number];

export type AdmissionPlugins = ReadonlySet<PluginName>;

/** The plugins that are enabled by default, as in kube-apiserver. */
export const defaultPlugins: AdmissionPlugins = new Set(
  pluginNames.filter((name) => name !== 'DenyServiceExternalIPs'),
);
