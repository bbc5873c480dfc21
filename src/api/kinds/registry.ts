// All kinds that the server serves, in the order of discovery.
import type { Kind } from '../kind.ts';
import { apiVersionOf } from '../kind.ts';
import type { ApiObject } from '../metadata.ts';
import type { StructSchema } from '../schema/schema.ts';
import { clusterPropertyAlphaKind, clusterPropertyKind } from './about/clusterproperty/kind.ts';
import { mutatingAdmissionPolicyKind } from './admissionregistration/mutatingadmissionpolicy/kind.ts';
import { mutatingAdmissionPolicyBindingKind } from './admissionregistration/mutatingadmissionpolicybinding/kind.ts';
import { mutatingWebhookConfigurationKind } from './admissionregistration/mutatingwebhookconfiguration/kind.ts';
import { validatingAdmissionPolicyKind } from './admissionregistration/validatingadmissionpolicy/kind.ts';
import { validatingAdmissionPolicyBindingKind } from './admissionregistration/validatingadmissionpolicybinding/kind.ts';
import { validatingWebhookConfigurationKind } from './admissionregistration/validatingwebhookconfiguration/kind.ts';
import { controllerRevisionKind } from './apps/controllerrevision/kind.ts';
import { daemonSetKind } from './apps/daemonset/kind.ts';
import { deploymentKind } from './apps/deployment/kind.ts';
import { replicaSetKind } from './apps/replicaset/kind.ts';
import { statefulSetKind } from './apps/statefulset/kind.ts';
import { customResourceDefinitionKind } from './apiextensions/customresourcedefinition/kind.ts';
import { apiServiceKind } from './apiregistration/apiservice/kind.ts';
import { selfSubjectReviewKind } from './authentication/selfsubjectreview/kind.ts';
import { tokenReviewKind } from './authentication/tokenreview/kind.ts';
import { localSubjectAccessReviewKind } from './authorization/localsubjectaccessreview/kind.ts';
import { selfSubjectAccessReviewKind } from './authorization/selfsubjectaccessreview/kind.ts';
import { selfSubjectRulesReviewKind } from './authorization/selfsubjectrulesreview/kind.ts';
import { subjectAccessReviewKind } from './authorization/subjectaccessreview/kind.ts';
import { horizontalPodAutoscalerKind } from './autoscaling/horizontalpodautoscaler/kind.ts';
import { cronJobKind } from './batch/cronjob/kind.ts';
import { jobKind } from './batch/job/kind.ts';
import { certificateSigningRequestKind } from './certificates/certificatesigningrequest/kind.ts';
import { leaseKind } from './coordination/lease/kind.ts';
import { configMapKind } from './core/configmap/kind.ts';
import { endpointsKind } from './core/endpoints/kind.ts';
import { eventKind } from './core/event/kind.ts';
import { limitRangeKind } from './core/limitrange/kind.ts';
import { namespaceKind } from './core/namespace/kind.ts';
import { nodeKind } from './core/node/kind.ts';
import { persistentVolumeKind } from './core/persistentvolume/kind.ts';
import { persistentVolumeClaimKind } from './core/persistentvolumeclaim/kind.ts';
import { podKind } from './core/pod/kind.ts';
import { podTemplateKind } from './core/podtemplate/kind.ts';
import { replicationControllerKind } from './core/replicationcontroller/kind.ts';
import { resourceQuotaKind } from './core/resourcequota/kind.ts';
import { secretKind } from './core/secret/kind.ts';
import { serviceKind } from './core/service/kind.ts';
import { serviceAccountKind } from './core/serviceaccount/kind.ts';
import { endpointSliceKind } from './discovery/endpointslice/kind.ts';
import { eventsEventKind } from './events/event/kind.ts';
import { gatewayBetaKind, gatewayKind } from './gateway/gateway/kind.ts';
import { gatewayClassBetaKind, gatewayClassKind } from './gateway/gatewayclass/kind.ts';
import { referenceGrantBetaKind, referenceGrantKind } from './gateway/referencegrant/kind.ts';
import { tcpRouteAlphaKind, tcpRouteKind, udpRouteAlphaKind, udpRouteKind } from './gateway/route/kinds.ts';
import { cloudLoadBalancerKind } from './loadbalancer/cloudloadbalancer/kind.ts';
import { nodeMetricsKind } from './metrics/nodemetrics/kind.ts';
import { podMetricsKind } from './metrics/podmetrics/kind.ts';
import { clusterMemberKind } from './multicluster/clustermember/kind.ts';
import { serviceExportAlphaKind, serviceExportKind } from './multicluster/serviceexport/kind.ts';
import { serviceImportAlphaKind, serviceImportKind } from './multicluster/serviceimport/kind.ts';
import { superclusterExportKind } from './multicluster/supercluster/export.ts';
import { importedServiceKind } from './multicluster/supercluster/import.ts';
import { ingressKind } from './networking/ingress/kind.ts';
import { ingressClassKind } from './networking/ingressclass/kind.ts';
import { ipAddressKind } from './networking/ipaddress/kind.ts';
import { networkPolicyKind } from './networking/networkpolicy/kind.ts';
import { serviceCidrKind } from './networking/servicecidr/kind.ts';
import { runtimeClassKind } from './node/runtimeclass/kind.ts';
import { podDisruptionBudgetKind } from './policy/poddisruptionbudget/kind.ts';
import { clusterRoleKind } from './rbac/clusterrole/kind.ts';
import { clusterRoleBindingKind } from './rbac/clusterrolebinding/kind.ts';
import { roleKind } from './rbac/role/kind.ts';
import { roleBindingKind } from './rbac/rolebinding/kind.ts';
import { priorityClassKind } from './scheduling/priorityclass/kind.ts';
import { storageClassKind } from './storage/storageclass/kind.ts';

/** All kinds; the storage version of a kind comes before its other versions. */
export const kinds: readonly Kind[] = [
  namespaceKind,
  serviceKind,
  endpointsKind,
  podKind,
  nodeKind,
  eventKind,
  configMapKind,
  secretKind,
  serviceAccountKind,
  podTemplateKind,
  replicationControllerKind,
  persistentVolumeKind,
  persistentVolumeClaimKind,
  resourceQuotaKind,
  limitRangeKind,
  apiServiceKind,
  deploymentKind,
  replicaSetKind,
  statefulSetKind,
  daemonSetKind,
  controllerRevisionKind,
  eventsEventKind,
  selfSubjectReviewKind,
  tokenReviewKind,
  localSubjectAccessReviewKind,
  selfSubjectAccessReviewKind,
  selfSubjectRulesReviewKind,
  subjectAccessReviewKind,
  horizontalPodAutoscalerKind,
  jobKind,
  cronJobKind,
  certificateSigningRequestKind,
  podDisruptionBudgetKind,
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
  storageClassKind,
  mutatingWebhookConfigurationKind,
  validatingAdmissionPolicyKind,
  validatingAdmissionPolicyBindingKind,
  validatingWebhookConfigurationKind,
  mutatingAdmissionPolicyKind,
  mutatingAdmissionPolicyBindingKind,
  customResourceDefinitionKind,
  priorityClassKind,
  leaseKind,
  runtimeClassKind,
  endpointSliceKind,
  ingressKind,
  ingressClassKind,
  networkPolicyKind,
  ipAddressKind,
  serviceCidrKind,
  superclusterExportKind,
  importedServiceKind,
  serviceExportKind,
  serviceExportAlphaKind,
  serviceImportKind,
  serviceImportAlphaKind,
  clusterPropertyKind,
  clusterPropertyAlphaKind,
  cloudLoadBalancerKind,
  clusterMemberKind,
  gatewayClassKind,
  gatewayClassBetaKind,
  gatewayKind,
  gatewayBetaKind,
  tcpRouteKind,
  tcpRouteAlphaKind,
  udpRouteKind,
  udpRouteAlphaKind,
  referenceGrantKind,
  referenceGrantBetaKind,
  nodeMetricsKind,
  podMetricsKind,
];

const key = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;

const byPath: ReadonlyMap<string, Kind> = new Map(
  kinds.map((kind) => [key(kind.group, kind.version, kind.plural), kind]),
);

/** The kind served under a path such as `/apis/apps/v1/deployments`; '' is the core group. */
export const kindFor = (group: string, version: string, plural: string): Kind | undefined =>
  byPath.get(key(group, version, plural));

const byName: ReadonlyMap<string, Kind> = new Map(
  kinds.map((kind) => [key(kind.group, kind.version, kind.kind), kind]),
);

/** The kind of an object by its `apiVersion` and `kind`. */
export const kindNamed = (group: string, version: string, name: string): Kind | undefined =>
  byName.get(key(group, version, name));

const schemas: ReadonlyMap<string, StructSchema> = new Map(
  kinds
    .flatMap((kind) => [kind, ...kind.subresources.flatMap(({ body }) => body ?? [])])
    .filter(({ custom, jsonOnly }) => !custom && jsonOnly !== true)
    .map((kind) => [`${apiVersionOf(kind)} ${kind.kind}`, kind.schema]),
);

/** The schema of objects and bodies that have a protobuf encoding, by their `apiVersion` and `kind`. */
export const schemaNamed = ({ apiVersion, kind }: Pick<ApiObject, 'apiVersion' | 'kind'>): StructSchema | undefined =>
  schemas.get(`${apiVersion} ${kind}`);
