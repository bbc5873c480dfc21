// The client of Route 53. The SDK is loaded on demand and finds credentials itself.
import type { Route53 as Client } from '@aws-sdk/client-route-53';
import { codeOf } from '../../../api/error-message.ts';

const sdkPackage = '@aws-sdk/client-route-53';

/** All actions that are used, and so the required permissions. */
export const route53Actions = [
  'ChangeResourceRecordSets',
  'GetHostedZone',
  'ListHostedZonesByName',
  'ListResourceRecordSets',
] as const;

/** The used part of the SDK client. */
export type Route53 = Pick<Client, Uncapitalize<(typeof route53Actions)[number]>>;

export interface ConnectOptions {
  /** Endpoint of the API, for example of an emulator. */
  readonly endpoint?: string | undefined;
  /** Attempts per call; default: that of the SDK. */
  readonly maxAttempts?: number;
}

/** How long AWS may take for a connection, and for an answer. */
const timeouts = { connectionTimeout: 5000, requestTimeout: 30_000 };

/** Creates a client. Rejects if the SDK, an optional dependency, is not installed. */
export async function connect(options: ConnectOptions): Promise<Route53> {
  const sdk = await import('@aws-sdk/client-route-53').catch((error: unknown) => {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(`the publisher needs the SDK of AWS for Route 53: npm install ${sdkPackage}`, { cause: error });
  });
  const common = {
    // All callers of an account share a limit of five requests a second.
    retryMode: 'adaptive',
    requestHandler: timeouts,
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
    ...(options.maxAttempts === undefined ? {} : { maxAttempts: options.maxAttempts }),
  };
  const client = new sdk.Route53(common);
  // Route 53 has no regions, but the SDK needs the partition, which is that of the configured region.
  const hasRegion = await client.config.region().then(
    () => true,
    () => false,
  );
  return hasRegion ? client : new sdk.Route53({ ...common, region: 'us-east-1' });
}
