// A custom resource with two versions, which a webhook converts.
import assert from 'node:assert/strict';

import type { Answer, TestServer } from '../../testing/server.ts';
import { testServer } from '../../testing/server.ts';
import { until } from '../../testing/until.ts';
import type { Responder, ReviewRequest, TestWebhook } from '../../webhooks/testing/webhook.ts';
import { startWebhook } from '../../webhooks/testing/webhook.ts';

export const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const group = 'conversion.example.com';
export const name = `hosts.${group}`;
export const url = (version: string, object = ''): string =>
  `/apis/${group}/${version}/namespaces/default/hosts${object}`;

const text = { type: 'string' };
const objectOf = (properties: object): object => ({ type: 'object', properties });

/** In v1 the address is one text, in v2 it has two fields. */
const schemas: Readonly<Record<string, object>> = {
  v1: objectOf({ spec: objectOf({ address: text, replicas: { type: 'integer' } }), status: objectOf({}) }),
  v2: objectOf({ spec: objectOf({ host: text, port: text, replicas: { type: 'integer' } }), status: objectOf({}) }),
};

export const versions = (storage: string): object[] =>
  Object.entries(schemas).map(([version, openAPIV3Schema]) => ({
    name: version,
    served: true,
    storage: version === storage,
    schema: { openAPIV3Schema },
    subresources: { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
    ...(version === 'v2'
      ? {
          selectableFields: [{ jsonPath: '.spec.host' }],
          additionalPrinterColumns: [{ name: 'Host', type: 'string', jsonPath: '.spec.host' }],
        }
      : {}),
  }));

export const definition = (webhook: Pick<TestWebhook, 'url' | 'caBundle'>, storage = 'v1'): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'hosts', kind: 'Host' },
    versions: versions(storage),
    conversion: {
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: { url: webhook.url, caBundle: webhook.caBundle },
      },
    },
  },
});

export const v1 = (host: string, spec: object = { address: `${host}:80` }): object => ({
  apiVersion: `${group}/v1`,
  kind: 'Host',
  metadata: { name: host },
  spec,
});
export const v2 = (host: string): object => ({
  apiVersion: `${group}/v2`,
  kind: 'Host',
  metadata: { name: host },
  spec: { host, port: '80' },
});

export function converted(object: ReviewRequest, version: string): object {
  const { metadata, spec } = object;
  const labels = { ...metadata.labels, seen: version.slice(version.indexOf('/') + 1) };
  const { replicas } = spec;
  const [host, port] = String(spec.address).split(':');
  return {
    ...object,
    apiVersion: version,
    metadata: { ...metadata, labels },
    spec: version.endsWith('v1') ? { address: `${spec.host}:${spec.port}`, replicas } : { host, port, replicas },
  };
}

export const answers = (request: ReviewRequest): object => ({
  result: { status: 'Success' },
  convertedObjects: request.objects.map((object: ReviewRequest) => converted(object, request.desiredAPIVersion)),
});

export async function install(server: TestServer, crd: object): Promise<void> {
  const created = await server.ask('POST', crds, { body: crd });
  assert.equal(created.status, 201, created.text);
  await until('the definition is served', async () => (await server.ask('GET', url('v2'))).status !== 404);
}

export async function withHosts(respond: Responder, run: (server: TestServer, webhook: TestWebhook) => Promise<void>) {
  await using webhook = await startWebhook(respond);
  await using server = await testServer();
  await install(server, definition(webhook));
  await run(server, webhook);
}

export async function made(server: TestServer, version: string, body: object): Promise<Answer['body']> {
  const created = await server.ask('POST', url(version), { body });
  assert.equal(created.status, 201, created.text);
  return created.body;
}
