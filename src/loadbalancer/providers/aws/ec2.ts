// The EC2 calls for security groups. The ELBv2 SDK provides credentials and signing for any service, so a second SDK for
// seven calls is not needed.
import { pipeline, Readable, Transform } from 'node:stream';
import { text as allOf } from 'node:stream/consumers';

import type { ElasticLoadBalancingV2 } from '@aws-sdk/client-elastic-load-balancing-v2';
import { messageOf } from '../../../api/error-message.ts';
import { asRecord, asTags } from './names.ts';
import type { FoundSecurityGroup, Rule } from './found.ts';
import type { Element } from './xml.ts';
import { elementIn, itemsIn, parseXml, textIn } from './xml.ts';

/** All EC2 actions that are used, and so the required permissions. */
export const ec2Actions = [
  'AuthorizeSecurityGroupIngress',
  'CreateSecurityGroup',
  'CreateTags',
  'DeleteSecurityGroup',
  'DescribeSecurityGroups',
  'DescribeSubnets',
  'RevokeSecurityGroupIngress',
] as const;

type Words = Readonly<Record<string, string>>;

export interface SecurityGroupInput {
  readonly name: string;
  readonly description: string;
  readonly vpc: string;
  readonly tags: Words;
}

/** The used part of the EC2 API. Every call is aborted when the signal fires. */
export interface Ec2 {
  /** The VPC of a subnet. */
  vpcOf(subnet: string, signal: AbortSignal): Promise<string>;
  /** The groups that match all filters, such as `{ 'group-name': 'fl-web' }`. */
  securityGroups(filters: Words, signal: AbortSignal): Promise<readonly FoundSecurityGroup[]>;
  /** Returns the ID. */
  createSecurityGroup(input: SecurityGroupInput, signal: AbortSignal): Promise<string>;
  authorizeIngress(id: string, rules: readonly Rule[], signal: AbortSignal): Promise<void>;
  revokeIngress(id: string, rules: readonly Rule[], signal: AbortSignal): Promise<void>;
  deleteSecurityGroup(id: string, signal: AbortSignal): Promise<void>;
  addTags(id: string, tags: Words, signal: AbortSignal): Promise<void>;
}

/** A client of the SDK that is used only to sign EC2 requests. */
type Signing = Pick<ElasticLoadBalancingV2, 'config'>;

/** EC2 in the account and region of a client. */
export function ec2By(signing: Signing, endpoint?: string): Ec2 {
  const call = ec2Caller(signing, endpoint);
  return {
    vpcOf: async (subnet, signal) => {
      const response = await call('DescribeSubnets', { SubnetId: [subnet] }, signal);
      return elementIn(response, 'vpcId')?.text ?? '';
    },
    async securityGroups(filters, signal) {
      const Filter = Object.entries(filters).map(([Name, value]) => ({ Name, Value: [value] }));
      const found: FoundSecurityGroup[] = [];
      for (let NextToken = '', isMore = true; isMore; isMore = NextToken !== '') {
        const input = { Filter, MaxResults: '1000', ...(NextToken === '' ? {} : { NextToken }) };
        const response = await call('DescribeSecurityGroups', input, signal);
        found.push(...itemsIn(response, 'securityGroupInfo').map(securityGroupOf));
        NextToken = textIn(response, 'nextToken');
      }
      return found;
    },
    async createSecurityGroup({ name, description, vpc, tags }, signal) {
      const TagSpecification = [{ ResourceType: 'security-group', Tag: asTags(tags) }];
      const input = { GroupName: name, GroupDescription: description, VpcId: vpc, TagSpecification };
      return textIn(await call('CreateSecurityGroup', input, signal), 'groupId');
    },
    async authorizeIngress(GroupId, rules, signal) {
      await call('AuthorizeSecurityGroupIngress', { GroupId, IpPermissions: rules.map(permission) }, signal);
    },
    async revokeIngress(GroupId, rules, signal) {
      await call('RevokeSecurityGroupIngress', { GroupId, IpPermissions: rules.map(permission) }, signal);
    },
    async deleteSecurityGroup(GroupId, signal) {
      await call('DeleteSecurityGroup', { GroupId }, signal);
    },
    async addTags(id, tags, signal) {
      await call('CreateTags', { ResourceId: [id], Tag: asTags(tags) }, signal);
    },
  };
}

/** Form parameters: `{ Tag: [{ Key: 'a' }] }` becomes `Tag.1.Key=a`. */
type Input = string | readonly Input[] | { readonly [name: string]: Input | undefined };

type Ec2Call = (action: (typeof ec2Actions)[number], input: Input, signal: AbortSignal) => Promise<Element>;

const timeoutMs = 30_000;

function ec2Caller(signing: Signing, endpoint: string | undefined): Ec2Call {
  return async (action, input, signal) => {
    const url = new URL(endpoint ?? (await endpointOf(signing)));
    const form = new URLSearchParams([['Action', action], ['Version', '2016-11-15'], ...parameters(input)]);
    const { headers, body } = await signed(signing, url, form.toString());
    const until = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const response = await fetch(url, { method: 'POST', headers, body, signal: until }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      throw new Error(`no response from EC2 at ${url.host}: ${messageOf(cause)}`, { cause: error });
    });
    const text = await textOf(response);
    if (!response.ok) throw ec2Error(response, text);
    return parseXml(text);
  };
}

/** The text of a response; the size limit applies after decompression. */
const textOf = ({ body }: Response): Promise<string> =>
  allOf(pipeline(Readable.from(body ?? []), limitResponse(), () => undefined));

/** The endpoint of EC2, which follows the same pattern as that of ELBv2 in every partition. */
export async function endpointOf({ config }: Signing): Promise<string> {
  const { url } = config.endpointProvider({ Region: await config.region(), UseFIPS: await config.useFipsEndpoint() });
  return url.href.replace('//elasticloadbalancing', '//ec2');
}

async function signed(
  { config }: Signing,
  { protocol, hostname, host, port }: URL,
  body: string,
): Promise<{ readonly headers: Record<string, string>; readonly body: string }> {
  const scheme = { name: 'sigv4', signingName: 'ec2', signingRegion: await config.region(), properties: {} };
  const signer = await config.signer(scheme);
  const headers = { host, 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
  const address = { protocol, hostname, ...(port === '' ? {} : { port: Number(port) }), path: '/', query: {} };
  const request = await signer.sign({ method: 'POST', ...address, headers, body });
  const { host: _, ...sent } = request.headers; // set by fetch
  return { headers: sent, body };
}

function parameters(input: Input, path = ''): readonly [string, string][] {
  if (typeof input === 'string') return [[path, input]];
  const named = Array.isArray(input)
    ? input.map((each: Input, index) => [String(index + 1), each] as const)
    : Object.entries(input);
  return named.flatMap(([name, each]) =>
    each === undefined ? [] : parameters(each, path === '' ? name : `${path}.${name}`),
  );
}

/** An error in the form of the SDK: its name is the code, and it has the response. */
function ec2Error({ status, headers }: Response, text: string): Error {
  const { code, message } = parseError(text);
  return Object.assign(new Error(message || `EC2 returned status ${status}`), {
    name: code || 'Error',
    $metadata: { httpStatusCode: status },
    $response: { headers: Object.fromEntries(headers) },
  });
}

function parseError(text: string): { readonly code: string; readonly message: string } {
  try {
    const error = elementIn({ name: '', text: '', children: [parseXml(text)] }, 'Error');
    return error === undefined
      ? { code: '', message: '' }
      : { code: textIn(error, 'Code'), message: textIn(error, 'Message') };
  } catch {
    return { code: '', message: '' }; // an error page of a proxy
  }
}

const permission = ({ protocol, from, to, source }: Rule): Input => ({
  IpProtocol: protocol,
  FromPort: String(from),
  ToPort: String(to),
  ...(source.includes(':') ? { Ipv6Ranges: [{ CidrIpv6: source }] } : { IpRanges: [{ CidrIp: source }] }),
});

/** Rules for other groups or prefix lists are not ours and are omitted. */
const securityGroupOf = (group: Element): FoundSecurityGroup => ({
  id: textIn(group, 'groupId'),
  name: textIn(group, 'groupName'),
  rules: itemsIn(group, 'ipPermissions').flatMap((each) =>
    [
      ...itemsIn(each, 'ipRanges').map((range) => textIn(range, 'cidrIp')),
      ...itemsIn(each, 'ipv6Ranges').map((range) => textIn(range, 'cidrIpv6')),
    ].map((source) => ({
      protocol: textIn(each, 'ipProtocol'),
      from: Number(textIn(each, 'fromPort')),
      to: Number(textIn(each, 'toPort')),
      source,
    })),
  ),
  tags: asRecord(itemsIn(group, 'tagSet').map((tag) => ({ Key: textIn(tag, 'key'), Value: textIn(tag, 'value') }))),
});

/** More than any AWS response with a thousand items. */
export const maxResponseBytes = 16 << 20;

/** Fails if a response is larger than the limit. */
export function limitResponse(): Transform {
  let length = 0;
  return new Transform({
    transform(piece: Uint8Array, _encoding, done) {
      length += piece.length;
      if (length <= maxResponseBytes) done(null, piece);
      else done(new Error(`AWS sends more than ${maxResponseBytes} bytes in a response`));
    },
  });
}
