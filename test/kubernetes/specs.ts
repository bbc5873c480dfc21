// The specs of Kubernetes' end-to-end suite that need no container: neither a kubelet, nor a program in a Pod.

/** File of test/e2e → the names of its specs. */
const runnable: readonly (readonly [file: RegExp, spec: RegExp])[] = [
  [
    /^apimachinery\/(?:aggregated_discovery|apply|chunking|discovery|field_validation|flowcontrol)\.go$/,
    /^(?!.*drowned)/,
  ],
  [/^apimachinery\/generated_clientset\.go$/, /cronJobs/],
  [/^apimachinery\/(?:health_handlers|request_timeout|resource_quota|server_version)\.go$/, /(?:)/],
  [/^apimachinery\/(?:table_conversion|validatingadmissionpolicy|watch|watchlist)\.go$/, /(?:)/],
  [/^apimachinery\/(?:crd_(?!conversion|selectable).*|custom_resource_definition)\.go$/, /(?:)/],
  [/^apimachinery\/namespace\.go$/, /^(?!.*(?:all pods are removed|delete pod first))/],
  [/^apimachinery\/openapiv3\.go$/, /^(?!.*Aggregated)/],
  [/^apimachinery\/protocol\.go$/, /watch and report errors/],
  [/^apimachinery\/garbage_collector\.go$/, /(?:)/],
  [/^apps\/cronjob\.go$/, /API operations/],
  [/^architecture\/conformance\.go$/, /(?:)/],
  [/^auth\/(?:selfsubjectreviews|subjectreviews)\.go$/, /(?:)/],
  [/^auth\/certificates\.go$/, /API operations/],
  [/^auth\/service_accounts\.go$/, /auto-generated|lifecycle|kube-root-ca|update a ServiceAccount|TokenReview/],
  [/^common\/node\/configmap\.go$/, /empty key|update ConfigMap|lifecycle/],
  [/^common\/node\/secrets\.go$/, /empty key|patch a secret/],
  [/^common\/node\/(?:lease|podtemplates)\.go$/, /(?:)/],
  [/^common\/node\/runtimeclass\.go$/, /API operations|reject a Pod requesting a (?:non-existent|deleted)/],
  [/^instrumentation\/(?:core_events|events)\.go$/, /(?:)/],
  [/^instrumentation\/monitoring\/metrics_grabber\.go$/, /API server/],
  [
    /^kubectl\/kubectl\.go$/,
    /v1 is in available api versions|componentstatuses|to an existing RC|last-applied|applyset/,
  ],
  [
    /^kubectl\/kubectl\.go$/,
    /kubectl diff|dry-run|control plane services|validation schema|metadata fields|for cronjob/,
  ],
  [
    /^kubectl\/kubectl\.go$/,
    /create a quota|reject quota|version information|not found error|bulk GET|proxy with|unix-socket/,
  ],
  [/^network\/apiserver\.go$/, /(?:)/],
  [/^network\/endpoints\.go$/, /lifecycle|matches no pods/],
  [/^network\/endpointslice\.go$/, /API operations|pointing to API Server|matches no pods|deleted/],
  [/^network\/endpointslicemirroring\.go$/, /through create update and delete/],
  [/^network\/(?:ingress|ingressclass|netpol\/network_policy_api|service_cidrs)\.go$/, /^(?!.*serve on different)/],
  [/^network\/service\.go$/, /secure master|listing all namespaces|lifecycle|collection|collisions|out-of-range/],
  [/^scheduling\/limit_range\.go$/, /(?:)/],
  [
    /^storage\/(?:csi_node|csistoragecapacity|storageclass|volume_attachment|volumeattributesclass)\.go$/,
    /lifecycle|operations|status/,
  ],
  [/^storage\/persistent_volumes\.go$/, /lifecycle|to a pv\/pvc status/],
];

/** What the report of Ginkgo has about a spec. */
export interface Spec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly LeafNodeLocation: { readonly FileName: string };
  readonly State: string;
  readonly Failure?: { readonly Message?: string };
}

/** The full name of a spec. */
export const nameOf = ({ ContainerHierarchyTexts, LeafNodeText }: Spec): string =>
  [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ');

/** Whether a spec waits without a limit for what no component here does, which would keep others from running. */
export const waitsForever = (name: string): boolean => /ValidatingAdmissionPolicy .*should type check/.test(name);

/** Labels of specs that take minutes, change nodes, or test what is off by default. */
const excluded = /\[(?:Disruptive|Slow|Flaky|DRA)\]|\[Feature:(?!Ingress\]|PodPriority\])/;

/** Whether a spec is among some files and names. */
const isAmong = (spec: Spec, selection: typeof runnable): boolean => {
  const file = spec.LeafNodeLocation.FileName.split('/test/e2e/')[1] ?? '';
  return (
    spec.LeafNodeType === 'It' &&
    !excluded.test(nameOf(spec)) &&
    selection.some(([files, specs]) => files.test(file) && specs.test(spec.LeafNodeText))
  );
};

/** Whether a spec needs no container. */
export const isRunnable = (spec: Spec): boolean => isAmong(spec, runnable);

/** Specs whose Pods run, end or fail, and serve nothing: the Pods of a machine share its ports without network namespaces. */
const ofProcesses: typeof runnable = [
  [/^apps\/(?:controller_revision|daemon_set|ttl_after_finished)\.go$/, /(?:)/],
  [/^apps\/job\.go$/, /^(?!.*(?:locally restarted|ignore failure matching))/],
  [/^apps\/(?:deployment|rc|replica_set)\.go$/, /^(?!.*(?:serve a basic image|load-balancer))/],
  [/^apps\/disruption\.go$/, /^(?!.*(?:unready pods|evict ready pods|evictions:|block an eviction))/],
];

/** Whether a spec needs Pods that are processes. */
export const isOfProcesses = (spec: Spec): boolean => isAmong(spec, ofProcesses);
