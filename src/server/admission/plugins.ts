/** The admission plugins that this server has, by kube-apiserver's names, in the order in which they check a write. */
export const pluginNames = [
  'NamespaceLifecycle',
  'DenyServiceExternalIPs',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
] as const;

export type PluginName = (typeof pluginNames)[number];

/** The plugins that check writes. */
export type AdmissionPlugins = ReadonlySet<PluginName>;

/** What is enabled unless a flag says otherwise, as in kube-apiserver. */
export const defaultPlugins: AdmissionPlugins = new Set(
  pluginNames.filter((name) => name !== 'DenyServiceExternalIPs'),
);
