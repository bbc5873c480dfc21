// The flags that envtest passes to kube-apiserver, and their meaning for Fairlead.

import { gateNames } from '../../api/gates.ts';
import type { AdmissionPlugins } from '../../server/admission/plugins.ts';
import { defaultPlugins, pluginNames } from '../../server/admission/plugins.ts';
import { UsageError } from '../errors.ts';
import { parseServiceRanges } from '../options/cidr.ts';
import type { GateSettings } from '../options/feature-gates.ts';
import { parseFeatureGates } from '../options/feature-gates.ts';
import { parsePort } from '../options/values.ts';

/** The values of each flag, in order. */
export type KubeFlags = ReadonlyMap<string, readonly string[]>;

/** Reads `--name=value`, `--name value` and `--name`, which is true, without knowing the flags. */
export function parseKubeFlags(args: readonly string[]): KubeFlags {
  const flags = new Map<string, string[]>();
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? '';
    const match = /^--?([a-zA-Z0-9-]+)(?:=(.*))?$/s.exec(arg);
    if (match === null) throw new UsageError(`unexpected argument ${JSON.stringify(arg)}: expected --FLAG=VALUE`);
    const [, name = '', value] = match;
    const next = args[index + 1];
    const hasNext = value === undefined && next !== undefined && !next.startsWith('-');
    if (hasNext) index++;
    flags.set(name, [...(flags.get(name) ?? []), value ?? (hasNext ? next : 'true')]);
  }
  return flags;
}

/** How to run the API server of a test. */
export interface ApiServerOptions {
  readonly host: string;
  readonly port: number;
  /** The folder with `apiserver.crt` and `apiserver.key`. */
  readonly certDir: string;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly clientCaFile: string;
  readonly serviceCidrs: readonly string[];
  readonly issuer: string | undefined;
  readonly gates: GateSettings;
  readonly plugins: AdmissionPlugins;
  /** Flags and values without a meaning here, for the log. */
  readonly ignored: readonly string[];
}

/** Flags that change nothing here: the store is in memory, RBAC always applies, and token keys are made for each run. */
const irrelevant: ReadonlySet<string> = new Set([
  'allow-privileged',
  'authorization-mode',
  'etcd-servers',
  'service-account-key-file',
  'service-account-signing-key-file',
]);

const known: ReadonlySet<string> = new Set([
  'bind-address',
  'secure-port',
  'cert-dir',
  'tls-cert-file',
  'tls-private-key-file',
  'client-ca-file',
  'service-cluster-ip-range',
  'service-account-issuer',
  'feature-gates',
  'enable-admission-plugins',
  'disable-admission-plugins',
]);

/** The options of kube-apiserver that an API server of tests has. Gates and plugins that do not exist here are ignored. */
export function apiServerOptions(flags: KubeFlags): ApiServerOptions {
  const last = (name: string): string | undefined => flags.get(name)?.at(-1);
  const words = (name: string): readonly string[] =>
    (flags.get(name) ?? []).flatMap((text) => text.split(',')).filter((word) => word !== '');
  const required = (name: string): string => {
    const value = last(name);
    if (value === undefined) throw new UsageError(`--${name} is missing: envtest passes it`);
    return value;
  };
  const gates = words('feature-gates');
  const isKnownGate = (pair: string): boolean =>
    [...gateNames, 'AllAlpha', 'AllBeta'].some((name) => pair.trim().startsWith(`${name}=`));
  const enabled = words('enable-admission-plugins');
  const disabled = words('disable-admission-plugins');
  const isKnownPlugin = (name: string): boolean => pluginNames.some((plugin) => plugin === name);
  const [mode] = words('authorization-mode');
  return {
    host: last('bind-address') ?? '127.0.0.1',
    port: parsePort(last('secure-port') ?? '6443'),
    certDir: required('cert-dir'),
    certFile: last('tls-cert-file'),
    keyFile: last('tls-private-key-file'),
    clientCaFile: required('client-ca-file'),
    serviceCidrs: parseServiceRanges(last('service-cluster-ip-range') ?? '10.0.0.0/24'),
    issuer: last('service-account-issuer'),
    gates: parseFeatureGates(gates.filter(isKnownGate).join(',')),
    plugins: new Set(
      pluginNames.filter(
        (name) =>
          enabled.includes(name) ||
          name === 'NamespaceLifecycle' ||
          (defaultPlugins.has(name) && name !== 'NodeRestriction' && !disabled.includes(name)),
      ),
    ),
    ignored: [
      ...[...flags.keys()].filter((name) => !known.has(name) && !irrelevant.has(name)).map((name) => `--${name}`),
      ...gates.filter((pair) => !isKnownGate(pair)).map((pair) => `--feature-gates ${pair}`),
      ...enabled.filter((name) => !isKnownPlugin(name)).map((name) => `--enable-admission-plugins ${name}`),
      ...(mode === undefined || mode === 'RBAC' ? [] : [`--authorization-mode ${mode}`]),
    ],
  };
}
