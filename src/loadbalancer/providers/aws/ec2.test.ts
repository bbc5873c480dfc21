// Requests to EC2 and the parsing of responses.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text as bodyOf } from 'node:stream/consumers';
import { test } from 'node:test';
import { createGzip } from 'node:zlib';

import { connect } from './connect.ts';
import { endpointOf, maxResponseBytes } from './ec2.ts';
import { anyCredentials } from './testing/credentials.ts';
import { elementIn, itemsIn, parseXml, textIn } from './xml.ts';

const { signal } = new AbortController();

/** The request that a call sends, given the response. */
async function called(
  status: number,
  answer: string,
): Promise<{ error: unknown; body: string; headers: IncomingHttpHeaders }> {
  anyCredentials();
  const requests: { body: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      requests.push({ body, headers: request.headers });
      response.writeHead(status, { 'retry-after': '7' }).end(answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // A cast: it listens on a port.
  const { elb, ec2 } = await connect({ region: 'eu-central-1', endpoint, maxAttempts: 1 });
  const error = await ec2
    .authorizeIngress('sg-1', [{ protocol: 'tcp', from: 80, to: 80, source: '2001:db8::/32' }], signal)
    .catch((thrown: unknown) => thrown);
  await elb.describeLoadBalancers({}).catch(() => undefined);
  server.closeAllConnections();
  server.close();
  const [first, second] = requests;
  assert.ok(first && second);
  assert.match(second.headers.authorization ?? '', /\/elasticloadbalancing\/aws4_request/, 'ELBv2 has its own');
  return { error, ...first };
}

for (const [what, isCompressed] of [
  ['that does not end', false],
  ['that is small only while it is compressed', true],
] as const) {
  test(`does not buffer a response ${what}`, async () => {
    anyCredentials();
    let sent = 0;
    const server = createServer((_, response) => {
      const body = isCompressed ? createGzip() : new PassThrough();
      response.writeHead(200, isCompressed ? { 'content-encoding': 'gzip' } : {});
      response.on('error', () => {}).on('close', () => body.destroy());
      body.pipe(response);
      const piece = Buffer.alloc(1 << 20, ' ');
      const more = (): void => {
        for (let isTaken = true; isTaken && !body.destroyed && sent < 4 * maxResponseBytes; sent += piece.length)
          isTaken = body.write(piece);
        if (sent >= 4 * maxResponseBytes) body.end();
      };
      body.on('drain', more);
      more();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // A cast: it listens on a port.
    const { elb, ec2 } = await connect({ region: 'eu-central-1', endpoint, maxAttempts: 1 });
    for (const ask of [() => ec2.deleteSecurityGroup('sg-1', signal), () => elb.describeLoadBalancers({})]) {
      sent = 0;
      // The SDK does not decompress, so the response is not XML.
      const message = /more than 16777216 bytes|not|invalid|xml/i;
      await assert.rejects(async () => ask(), { message });
      assert.ok(sent < 2 * maxResponseBytes || isCompressed, `${sent} bytes were sent`);
    }
    server.closeAllConnections();
    server.close();
  });
}

test('a call is a form signed for EC2', async () => {
  const { error, body, headers } = await called(200, '<Done/>');
  assert.equal(error, undefined);
  assert.deepEqual(Object.fromEntries(new URLSearchParams(body)), {
    Action: 'AuthorizeSecurityGroupIngress',
    Version: '2016-11-15',
    GroupId: 'sg-1',
    'IpPermissions.1.IpProtocol': 'tcp',
    'IpPermissions.1.FromPort': '80',
    'IpPermissions.1.ToPort': '80',
    'IpPermissions.1.Ipv6Ranges.1.CidrIpv6': '2001:db8::/32',
  });
  assert.match(headers.authorization ?? '', /\/eu-central-1\/ec2\/aws4_request, SignedHeaders=content-type;host;/);
});

test('an error has the code, message and response of AWS', async () => {
  const xml =
    '<Response><Errors><Error><Code>InvalidGroup.NotFound</Code><Message>no &quot;it&quot;</Message></Error></Errors></Response>';
  const { error } = await called(400, xml);
  assert.ok(error instanceof Error);
  assert.equal(`${error.name} ${error.message}`, 'InvalidGroup.NotFound no "it"');
  const page = (await called(503, '<html>busy<br>')).error;
  assert.match(String(page), /EC2 returned status 503/);
});

test('the endpoint of EC2 follows that of ELBv2 in every partition', async () => {
  const { ElasticLoadBalancingV2 } = await import('@aws-sdk/client-elastic-load-balancing-v2');
  const places: readonly (readonly [string, boolean, string])[] = [
    ['eu-central-1', false, 'https://ec2.eu-central-1.amazonaws.com/'],
    ['cn-north-1', false, 'https://ec2.cn-north-1.amazonaws.com.cn/'],
    ['us-east-2', true, 'https://ec2-fips.us-east-2.amazonaws.com/'],
  ];
  for (const [region, useFipsEndpoint, want] of places)
    assert.equal(await endpointOf(new ElasticLoadBalancingV2({ region, useFipsEndpoint })), want);
});

test('names the address if there is no connection', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // A cast: it listens on a port.
  server.close();
  await once(server, 'close');
  const { ec2 } = await connect({ region: 'eu-central-1', endpoint: `http://127.0.0.1:${port}` });
  const gone = ec2.vpcOf('subnet-0a', signal);
  await assert.rejects(gone, /^Error: no response from EC2 at 127\.0\.0\.1:\d+: .*ECONNREFUSED/);
});

test('parses XML responses', () => {
  const xml =
    '<?xml version="1.0"?>\n<A x="1>"><list>\n <item><k>a &lt; b</k></item> <item><k/></item></list><n>1</n></A>';
  const root = parseXml(xml.replace('1>', '1'));
  assert.deepEqual(
    itemsIn(root, 'list').map((item) => textIn(item, 'k')),
    ['a < b', ''],
  );
  assert.equal(elementIn(root, 'k')?.text, 'a < b');
  assert.equal(textIn(root, 'k'), '', 'not its own');
  for (const broken of ['', 'text', '<A>', '<A></B>', '</A>', '<A><B></A></B>']) assert.throws(() => parseXml(broken));
});
