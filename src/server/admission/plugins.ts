/** The admission plugins of this server, by kube-apiserver's names and in its order. */
export const pluginNames = [
  'NamespaceLifecycle',
  'LimitRanger',
  'NodeRestriction',
  'Priority',
  'DefaultTolerationSeconds',
  'DefaultStorageClass',
  'RuntimeClass',
  'CertificateApproval',
  'CertificateSigning',
  'CertificateSubjectRestriction',
  'DefaultIngressClass',
  'DenyServiceExternalIPs',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionWebhook',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
] as const;

export type PluginName = (typeof pluginNames)[number];

export type AdmissionPlugins = ReadonlySet<PluginName>;

/** The plugins that are enabled by default: those of kube-apiserver, and NodeRestriction, which completes the authorization of nodes. */
export const defaultPlugins: AdmissionPlugins = new Set(
  pluginNames.filter((name) => name !== 'DenyServiceExternalIPs'),
);
