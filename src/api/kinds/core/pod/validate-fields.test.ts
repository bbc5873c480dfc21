// The errors that kube-apiserver 1.35 returns for the same Pods.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { WriteContext } from '../../../kind.ts';
import { decode } from '../../../schema/decode.ts';
import { podKind } from './kind.ts';
import type { Pod } from './schema.ts';
import { pod as podSchema } from './schema.ts';

const context: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };
const web = { name: 'web', image: 'web:1' };

function errorsOf(spec: object): readonly string[] {
  const given = { metadata: { name: 'web', namespace: 'shop' }, spec: { containers: [web], ...spec } };
  const pod = podKind.applyDefaults(decode<Pod>(podSchema, given).object);
  return podKind.validateCreate(pod, context).map(({ path, body }) => `${path}: ${body}`);
}

interface Case {
  readonly name: string;
  readonly spec: object;
  /** Without `spec.` in front. */
  readonly want: readonly string[];
}

const container = (fields: object): object => ({ containers: [{ ...web, ...fields }] });
const variable = (valueFrom: object): object => container({ env: [{ name: 'A', valueFrom }] });
const volume = (fields: object): object => ({ volumes: [{ name: 'v', ...fields }] });
const affinity = (fields: object): object => ({ affinity: fields });

const groups: Readonly<Record<string, readonly Case[]>> = {
  probes: [
    {
      name: 'an HTTP probe of an unknown port',
      spec: container({ readinessProbe: { httpGet: { port: 0, scheme: 'FTP', httpHeaders: [{ name: 'a b' }] } } }),
      want: [
        'containers[0].readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive',
        'containers[0].readinessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
        'containers[0].readinessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of alphanumeric ' +
          "characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
      ],
    },
    {
      name: 'grace periods of probes',
      spec: container({
        livenessProbe: { tcpSocket: { port: 'web' }, terminationGracePeriodSeconds: 0 },
        readinessProbe: { exec: { command: ['true'] }, terminationGracePeriodSeconds: 5 },
      }),
      want: [
        'containers[0].livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0',
        'containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes',
      ],
    },
    {
      name: 'a hook that sleeps longer than the grace period, and one without a command',
      spec: {
        ...container({ lifecycle: { postStart: { exec: {} }, preStop: { sleep: { seconds: 9 } } } }),
        terminationGracePeriodSeconds: 8,
      },
      want: [
        'containers[0].lifecycle.postStart.exec.command: Required value',
        'containers[0].lifecycle.preStop.sleep: Invalid value: 9: must be non-negative and less than terminationGracePeriodSeconds (8)',
      ],
    },
  ],
  environment: [
    {
      name: 'a variable with two sources',
      spec: variable({ fieldRef: { fieldPath: 'metadata.name' }, secretKeyRef: { name: 's', key: 'k' } }),
      want: ['containers[0].env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time'],
    },
    {
      name: 'a variable without a source',
      spec: variable({}),
      want: [
        'containers[0].env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ],
    },
    {
      name: 'a field that a variable cannot have',
      spec: variable({ fieldRef: { fieldPath: 'status.phase' } }),
      want: [
        'containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name", ' +
          '"metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", ' +
          '"status.podIP", "status.podIPs"',
      ],
    },
    { name: 'a label', spec: variable({ fieldRef: { fieldPath: "metadata.labels['app']" } }), want: [] },
    {
      name: 'a subscript of another field',
      spec: variable({ fieldRef: { fieldPath: "metadata.name['app']" } }),
      want: [
        'containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name[\'app\']": error converting fieldPath: ' +
          "field label does not support subscript: metadata.name['app']",
      ],
    },
    {
      name: 'a divisor that the resource does not have',
      spec: variable({ resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } }),
      want: [
        'containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
      ],
    },
    {
      name: 'all keys of nothing',
      spec: container({ envFrom: [{ prefix: 'A' }] }),
      want: ['containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'],
    },
  ],
  volumes: [
    {
      name: 'a host path that leads up, and an unknown type',
      spec: volume({ hostPath: { path: '/a/../b', type: 'Pipe' } }),
      want: [
        'volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain \'..\'',
        'volumes[0].hostPath.type: Unsupported value: "Pipe": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
      ],
    },
    {
      name: 'a ConfigMap without a name, and a file with an invalid mode',
      spec: volume({ configMap: { defaultMode: 512, items: [{ key: 'k', path: '..k' }] } }),
      want: [
        'volumes[0].configMap.name: Required value',
        'volumes[0].configMap.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive',
        'volumes[0].configMap.items[0].path: Invalid value: "..k": must not start with \'..\'',
      ],
    },
    {
      name: 'fields of the Pod, whose version has a default',
      spec: volume({ downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } }),
      want: [],
    },
    {
      name: 'a file with a resource of no container',
      spec: volume({ downwardAPI: { items: [{ path: 'cpu', resourceFieldRef: { resource: 'limits.cpu' } }] } }),
      want: ['volumes[0].downwardAPI.resourceFieldRef.containerName: Required value'],
    },
    {
      name: 'two projected files with one path',
      spec: volume({
        projected: {
          sources: [
            { secret: { name: 's', items: [{ key: 'k', path: 'p' }] } },
            { configMap: { name: 'c', items: [{ key: 'k', path: 'p' }] } },
          ],
        },
      }),
      want: ['volumes[0].projected: Invalid value: "c": conflicting duplicate paths'],
    },
    {
      name: 'a token for a minute',
      spec: volume({ projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 60 } }] } }),
      want: [
        'volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes',
      ],
    },
    {
      name: 'a driver without its required fields',
      spec: volume({ iscsi: { lun: 1 } }),
      want: ['volumes[0].iscsi.targetPortal: Required value', 'volumes[0].iscsi.iqn: Required value'],
    },
    {
      name: 'a claim without a size',
      spec: volume({ ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'] } } } }),
      want: ['volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value'],
    },
    {
      name: 'a mount of an invalid volume, and one outside of it',
      spec: {
        ...container({
          volumeMounts: [
            { name: 'v', mountPath: '/v' },
            { name: 'w', mountPath: '/w', subPath: '/w', mountPropagation: 'Bidirectional' },
          ],
        }),
        volumes: [
          { name: 'v', hostPath: {} },
          { name: 'w', emptyDir: {} },
        ],
      },
      want: [
        'volumes[0].hostPath.path: Required value',
        'containers[0].volumeMounts[0].name: Not found: "v"',
        'containers[0].volumeMounts.subPath: Invalid value: "/w": must be a relative path',
        'containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers',
      ],
    },
    {
      name: 'a block device of a directory',
      spec: {
        ...container({ volumeDevices: [{ name: 'v', devicePath: '/dev/../v' }] }),
        ...volume({ emptyDir: {} }),
      },
      want: [
        'containers[0].volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
        'containers[0].volumeDevices[0].devicePath: Invalid value: "/dev/../v": can not contain backsteps (\'..\')',
      ],
    },
  ],
  scheduling: [
    {
      name: 'an expression without values',
      spec: affinity({
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In' }] }],
          },
        },
      }),
      want: [
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      ],
    },
    {
      name: 'a weight above 100; a preference may have values that no label has',
      spec: affinity({
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 101, preference: { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a b'] }] } },
          ],
        },
      }),
      want: [
        'affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100',
      ],
    },
    {
      name: 'an affinity to Pods without a topology key',
      spec: affinity({
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ matchLabelKeys: ['app'] }] },
      }),
      want: [
        'affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set',
        'affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty',
        'affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must be non-empty',
        "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      ],
    },
    {
      name: 'a constraint twice, with domains that it cannot have',
      spec: {
        topologySpreadConstraints: [
          { maxSkew: 0, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 },
          { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' },
        ],
      },
      want: [
        'topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
        'topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, ScheduleAnyway}"',
        'topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
      ],
    },
    {
      name: 'a toleration of everything, with a value',
      spec: { tolerations: [{ operator: 'Exists', value: 'a' }] },
      want: ['tolerations[0].operator: Invalid value: "a": value must be empty when `operator` is \'Exists\''],
    },
  ],
  security: [
    {
      name: 'IDs out of range, and a profile without its file',
      spec: {
        securityContext: { runAsUser: -1, fsGroup: 2 ** 31, seccompProfile: { type: 'Localhost' } },
      },
      want: [
        'securityContext.fsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive',
        'securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        'securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost',
      ],
    },
    {
      name: 'a kernel parameter twice, and one with an invalid name',
      spec: {
        securityContext: {
          sysctls: [
            { name: 'kernel.a', value: '1' },
            { name: 'kernel.a', value: '1' },
            { name: 'A', value: '1' },
          ],
        },
      },
      want: [
        'securityContext.sysctls[1].name: Duplicate value: "kernel.a"',
        String.raw`securityContext.sysctls[2].name: Invalid value: "A": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`,
      ],
    },
    {
      name: 'an unmasked /proc with the users of the host',
      spec: container({ securityContext: { procMount: 'Unmasked' } }),
      want: [
        'containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
      ],
    },
  ],
  'the Pod itself': [
    {
      name: 'one host port twice',
      spec: container({
        ports: [
          { containerPort: 1, hostPort: 80 },
          { containerPort: 2, hostPort: 80 },
        ],
      }),
      want: ['containers[0].ports[1].hostPort: Duplicate value: "TCP//80"'],
    },
    {
      name: 'no name servers, where there are no others',
      spec: { dnsPolicy: 'None' },
      want: ['dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
    },
    {
      name: 'name servers that are no addresses, and empty options',
      spec: { dnsConfig: { nameservers: ['ns'], searches: ['.', 'a_b.example.'], options: [{}] } },
      want: [
        'dnsConfig.nameservers[0]: Invalid value: "ns": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        'dnsConfig.options[0]: Required value: must not be empty',
      ],
    },
    {
      name: 'lines of the hosts file',
      spec: { hostAliases: [{ ip: 'a', hostnames: ['a'] }] },
      want: ['hostAliases[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    },
    {
      name: 'another system, and a policy that does not exist',
      spec: { os: { name: 'plan9' }, preemptionPolicy: 'Always' },
      want: [
        'preemptionPolicy: Unsupported value: "Always": supported values: "PreemptLowerPriority", "Never"',
        'os: Unsupported value: "plan9": supported values: "linux", "windows"',
      ],
    },
    {
      name: 'spaces around an image',
      spec: { containers: [{ name: 'web', image: ' web:1' }] },
      want: ['containers[0].image: Invalid value: " web:1": must not have leading or trailing whitespace'],
    },
    {
      name: 'rules of a restart policy that is not set',
      spec: container({ restartPolicyRules: [{ action: 'Stop' }] }),
      want: [
        'containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used',
        'containers[0].restartPolicyRules[0].action: Unsupported value: "Stop": supported values: "Restart"',
        'containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified',
      ],
    },
  ],
};

for (const [group, cases] of Object.entries(groups)) {
  describe(group, () => {
    for (const { name, spec, want } of cases) {
      test(name, () => {
        assert.deepEqual(
          errorsOf(spec),
          want.map((each) => `spec.${each}`),
        );
      });
    }
  });
}
