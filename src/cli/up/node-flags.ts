import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import { fileErrorOf } from '../../api/error-message.ts';
import type { NodeAddressType } from '../../server/nodes/node-address.ts';
import { nodeAddressTypes } from '../../server/nodes/node-address.ts';
import type { NodeClientOptions } from '../../server/nodes/node-client.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { grouped, readFlag } from '../options/flags.ts';
import { nonEmpty, oneOf } from '../options/values.ts';

/** How the server connects to the servers of nodes, named as in kube-apiserver. */
export const nodeFlags: readonly Flag[] = grouped('Nodes', [
  {
    name: 'kubelet-client-certificate',
    value: 'FILE',
    description: 'client certificate at nodes, for logs, exec and port-forward',
    default: 'one of the own authority for the user kube-apiserver-kubelet-client',
  },
  { name: 'kubelet-client-key', value: 'FILE', description: 'key of --kubelet-client-certificate' },
  {
    name: 'kubelet-certificate-authority',
    value: 'FILE',
    description: 'authorities of the certificates of nodes; without it they are not verified',
  },
  {
    name: 'kubelet-preferred-address-types',
    value: 'TYPE,...',
    description: 'types of addresses of a Node, the preferred one first',
    default: nodeAddressTypes.join(','),
  },
]);

/** The files and settings of the connections to nodes. */
export interface NodeOptions {
  readonly certificateFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly authorityFile: string | undefined;
  readonly addressTypes: readonly NodeAddressType[];
}

export function readNodeOptions(settings: Settings): NodeOptions {
  const file = (name: string): string | undefined =>
    readFlag<string | undefined>(settings, name, nonEmpty('a path'), undefined);
  const certificateFile = file('kubelet-client-certificate');
  const keyFile = file('kubelet-client-key');
  if ((certificateFile === undefined) !== (keyFile === undefined)) {
    throw new UsageError('--kubelet-client-certificate and --kubelet-client-key belong together: pass both');
  }
  return {
    certificateFile,
    keyFile,
    authorityFile: file('kubelet-certificate-authority'),
    addressTypes: readFlag(settings, 'kubelet-preferred-address-types', parseAddressTypes, nodeAddressTypes),
  };
}

const parseAddressTypes = (text: string): readonly NodeAddressType[] => text.split(',').map(oneOf(nodeAddressTypes));

/** Reads the files. */
export async function openNodeOptions(options: NodeOptions): Promise<NodeClientOptions> {
  const { certificateFile, keyFile, authorityFile, addressTypes } = options;
  const [cert, key, ca] = await Promise.all([
    read('kubelet-client-certificate', certificateFile, (text) => new X509Certificate(text)),
    read('kubelet-client-key', keyFile, createPrivateKey),
    read('kubelet-certificate-authority', authorityFile, (text) => new X509Certificate(text)),
  ]);
  return { cert, key, ca, addressTypes };
}

async function read(
  flag: string,
  path: string | undefined,
  check: (text: string) => unknown,
): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    const text = await readFile(path, 'utf8');
    check(text);
    return text;
  } catch (error) {
    throw new UsageError(`--${flag} ${path} cannot be used: ${fileErrorOf(error)}`);
  }
}
