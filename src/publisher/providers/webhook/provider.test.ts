import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { zoneOf } from '../../plan/testing/objects.ts';
import { converge, plan, providerContract, published, zone } from '../testing/contract.ts';
import type { Endpoint, EndpointChanges } from './endpoint.ts';
import { WebhookProvider } from './provider.ts';
import type { WebhookOptions } from './provider.ts';

const mediaType = 'application/external.dns.webhook+json;version=1';
const { signal } = new AbortController();
const one = 'one.example.org 60 A 192.0.2.1';

/** A provider that keeps endpoints in memory. What `answer` handles it does not. */
class StandIn implements AsyncDisposable {
  /** Name, type and identifier → endpoint. */
  readonly endpoints = new Map<string, Endpoint>();
  readonly requests: string[] = [];
  filter: unknown = { include: [zone] };
  adjust: (endpoint: Endpoint) => Endpoint | undefined = (endpoint) => endpoint;
  accepts: (endpoint: Endpoint) => boolean = () => true;
  answer: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  url = '';
  readonly #server = createServer((request, response) => void this.#handle(request, response));

  static async start(): Promise<StandIn> {
    const standIn = new StandIn();
    await new Promise<void>((resolve) => standIn.#server.listen(0, '127.0.0.1', resolve));
    const address = standIn.#server.address();
    assert.ok(typeof address === 'object' && address !== null);
    standIn.url = `http://127.0.0.1:${address.port}`;
    return standIn;
  }

  provider(options: Partial<WebhookOptions> = {}): WebhookProvider {
    return new WebhookProvider({ url: this.url, zones: [], timeoutMs: 60_000, ...options });
  }

  put(endpoint: Endpoint): void {
    this.endpoints.set(keyOf(endpoint), endpoint);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = `${request.method} ${request.url}`;
    this.requests.push(call);
    const body = await text(request);
    if (this.answer(request, response)) return;
    assert.equal(request.headers.accept, mediaType);
    if (request.method === 'POST') assert.equal(request.headers['content-type'], mediaType);
    const send = (value: unknown): void =>
      void response.setHeader('content-type', mediaType).end(JSON.stringify(value));
    if (call === 'GET /') return send(this.filter);
    // As Go encodes an empty list.
    if (call === 'GET /records') return send(this.endpoints.size === 0 ? null : [...this.endpoints.values()]);
    if (call === 'POST /adjustendpoints')
      return send((JSON.parse(body) as Endpoint[]).flatMap((each) => this.adjust(each) ?? []));
    const { create, updateOld, updateNew, delete: gone } = JSON.parse(body) as EndpointChanges;
    if (![...create, ...updateNew].every((each) => this.accepts(each))) return void response.writeHead(500).end();
    for (const each of [...gone, ...updateOld]) {
      assert.deepEqual(this.endpoints.get(keyOf(each)), each, 'it must be as it was returned');
      this.endpoints.delete(keyOf(each));
    }
    for (const each of [...create, ...updateNew]) this.put(each);
    response.writeHead(204).end();
  }
}

const keyOf = ({ dnsName, recordType, setIdentifier = '' }: Endpoint): string =>
  `${dnsName} ${recordType} ${setIdentifier}`;

/** An endpoint as a provider adjusts it that has no TTL, and a setting of its own. */
const proxied = ({ dnsName, recordType, targets }: Endpoint, value: string): Endpoint => ({
  dnsName,
  recordType,
  targets,
  providerSpecific: [{ name: 'webhook/proxied', value }],
});

describe('the webhook provider', () => {
  describe('with a provider in memory', () => {
    let standIn: StandIn | undefined;
    providerContract(async () => (standIn ??= await StandIn.start()).provider());
    after(() => standIn?.[Symbol.asyncDispose]());
  });

  test('sends endpoints as ExternalDNS does', async () => {
    await using standIn = await StandIn.start();
    await using provider = standIn.provider();
    await converge(
      provider,
      `${one}\nalias.example.org 60 CNAME lb.example.net.\n_a._tcp.one.example.org 60 SRV 0 100 88 one.example.org.`,
    );
    const found = (key: string): Endpoint | undefined => standIn.endpoints.get(`${key} `);
    assert.deepEqual(found('alias.example.org CNAME')?.targets, ['lb.example.net']);
    assert.deepEqual(found('_a._tcp.one.example.org SRV')?.targets, ['0 100 88 one.example.org.']);
    assert.deepEqual(found('a-one.example.org TXT')?.targets, [
      '"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/shop"',
    ]);
  });

  test('reads texts without quotes, several endpoints of one set, and the zones of its domain filter', async () => {
    await using standIn = await StandIn.start();
    standIn.filter = { include: ['.example.org'], exclude: null };
    standIn.put({ dnsName: 'one.example.org', recordType: 'A', targets: ['192.0.2.1'], recordTTL: 60 });
    const owner = 'heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/shop';
    standIn.put({ dnsName: 'a-one.example.org.', recordType: 'TXT', targets: [owner], recordTTL: 60 });
    standIn.put({ dnsName: 'not in any zone', recordType: 'A', targets: ['192.0.2.1'] });
    await using provider = standIn.provider();
    assert.deepEqual(await provider.zones(signal), [zone]);
    assert.deepEqual(await plan(provider, one), []);
  });

  test('compares sets as the provider adjusts them: a TTL and settings of its own, and sets that it leaves out', async () => {
    await using standIn = await StandIn.start();
    standIn.adjust = (endpoint) => (endpoint.dnsName.startsWith('skip') ? undefined : proxied(endpoint, 'false'));
    await using provider = standIn.provider();
    assert.deepEqual(await converge(provider, `${one}\nskip.example.org 60 A 192.0.2.2`), []);
    assert.deepEqual(await published(provider), ['one.example.org 0 A 192.0.2.1']);
    assert.deepEqual(await plan(provider, one), []);
    const [, registered] = [...standIn.endpoints.values()];
    assert.deepEqual(registered?.providerSpecific, [{ name: 'webhook/proxied', value: 'false' }]);
    standIn.adjust = (endpoint) => proxied(endpoint, 'true');
    assert.equal((await plan(provider, one)).length, 1, 'a setting has changed');
    assert.deepEqual(await converge(provider, one), []);
    assert.deepEqual(await plan(provider, one), []);
  });

  test('leaves sets with an identifier as they are: they share a name with others', async () => {
    await using standIn = await StandIn.start();
    const owner = 'heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/shop';
    for (const setIdentifier of ['a', 'b']) {
      standIn.put({ dnsName: 'one.example.org', recordType: 'A', targets: ['192.0.2.9'], setIdentifier });
      standIn.put({ dnsName: 'a-one.example.org', recordType: 'TXT', targets: [`"${owner}"`], setIdentifier });
    }
    await using provider = standIn.provider();
    assert.deepEqual(await plan(provider, one), []);
    assert.deepEqual(await plan(provider, ''), []);
  });

  test('isolates a name that the provider rejects', async () => {
    await using standIn = await StandIn.start();
    standIn.accepts = ({ dnsName }) => !dnsName.includes('bad');
    await using provider = standIn.provider();
    const good = Array.from({ length: 20 }, (_, index) => `good-${index}.example.org 60 A 192.0.2.1`).join('\n');
    const failures = await converge(provider, `${good}\nbad.example.org 60 A 192.0.2.1`);
    assert.deepEqual(
      failures.map(({ change, state }) => [change.name, state]),
      [['bad.example.org', 'rejected']],
    );
    assert.match(failures[0]?.message ?? '', /^webhook provider http:.* answered 500, see its log$/);
    assert.deepEqual(await plan(provider, good), []);
  });

  test('does not send names that the provider does not manage', async () => {
    await using standIn = await StandIn.start();
    standIn.filter = { include: [zone], exclude: ['internal.example.org'] };
    await using provider = standIn.provider();
    const failures = await converge(provider, `${one}\na.internal.example.org 60 A 192.0.2.1`);
    assert.deepEqual(
      failures.map(({ change }) => change.name),
      ['a.internal.example.org'],
    );
    assert.deepEqual(await published(provider), [one]);
  });

  describe('a server that is broken or hostile', () => {
    const json =
      (body: string, type = mediaType) =>
      (_: IncomingMessage, response: ServerResponse): boolean => {
        response.setHeader('content-type', type).end(body);
        return true;
      };
    const rows: readonly {
      readonly name: string;
      readonly answer: (request: IncomingMessage, response: ServerResponse) => boolean;
      readonly error: RegExp;
      readonly timeoutMs?: number;
    }[] = [
      {
        name: 'another media type',
        answer: json('{}', 'application/json'),
        error: /its content type is "application\/json": expected "application\/external/,
      },
      { name: 'no JSON', answer: json('<html>'), error: /malformed answer/ },
      {
        name: 'a domain filter that is none',
        answer: json('{"include":"example.org"}'),
        error: /expected a list of domains in include/,
      },
      { name: 'no domains', answer: json('{}'), error: /it names no domains that it manages: pass --zone NAME/ },
      {
        name: 'an error page',
        answer: (_, response) => {
          response.writeHead(503).end(`down for maintenance ${'x'.repeat(10_000)}`);
          return true;
        },
        error: /\/ answered 503: down for maintenance x{1,300}$/,
      },
      {
        name: 'a redirect, which is not followed',
        answer: (_, response) => {
          response.writeHead(302, { location: 'http://192.0.2.1/' }).end();
          return true;
        },
        error: /answered 302/,
      },
      {
        name: 'a closed connection',
        answer: (request) => {
          request.socket.destroy();
          return true;
        },
        error: /^webhook provider http:/,
      },
      { name: 'no answer', answer: () => true, error: /^webhook provider http:/, timeoutMs: 50 },
      {
        name: 'an endless answer',
        answer: (_, response) => {
          const chunk = Buffer.alloc(1 << 20, ' ');
          const write = (): void => {
            while (!response.destroyed && response.write(chunk));
          };
          response.setHeader('content-type', mediaType).on('drain', write);
          write();
          return true;
        },
        error: /the server sends more than 33554432 bytes in a response/,
      },
    ];
    for (const { name, answer, error, timeoutMs = 60_000 } of rows)
      test(`is reported: ${name}`, async () => {
        await using standIn = await StandIn.start();
        standIn.answer = answer;
        await using provider = standIn.provider({ timeoutMs });
        await assert.rejects(provider.zones(signal), (thrown: Error) => {
          assert.equal(thrown.name, 'ProviderError');
          assert.match(thrown.message, error);
          return true;
        });
      });

    for (const body of [
      '{}',
      '[1]',
      '[{"dnsName":1,"recordType":"A"}]',
      '[{"dnsName":"a.example.org","recordType":"A","targets":[{}]}]',
      '[{"dnsName":"a.example.org","recordType":"A","targets":["x"],"providerSpecific":[null]}]',
      '[{"dnsName":"a.example.org","recordType":"A","recordTTL":"1"}]',
    ])
      test(`malformed records are reported: ${body}`, async () => {
        await using standIn = await StandIn.start();
        standIn.answer = (request, response) => request.url === '/records' && json(body)(request, response);
        await using provider = standIn.provider();
        await assert.rejects(
          provider.read(zone, signal),
          /ProviderError: webhook provider .*malformed answer: (?:endpoint 0|expected)/,
        );
      });
  });

  test('calls are counted, with their errors', async () => {
    await using standIn = await StandIn.start();
    const calls: string[] = [];
    await using provider = standIn.provider({ onCall: (call, isError) => calls.push(`${call} ${isError}`) });
    standIn.accepts = () => false;
    assert.equal(zoneOf(one).size, (await converge(provider, one)).length);
    assert.deepEqual(calls, ['records false', 'adjustendpoints false', 'applychanges true']);
  });
});
