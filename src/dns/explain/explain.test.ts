import assert from 'node:assert/strict';
import { test } from 'node:test';
import { typeNumber } from '../../dnswire/codes.ts';
import { explain, printExplanation } from './explain.ts';
import { sampleZones } from '../answer/testing/sample.ts';

const zones = sampleZones();
const svc = 'svc.cluster.local';

const cases = [
  {
    question: `web.default.${svc} A`,
    rcode: 'NOERROR',
    sources: ['Service/default/web'],
    why: [`web.default.${svc} has A records, made by Service/default/web`],
  },
  {
    question: `inside.default.${svc} A`,
    rcode: 'NOERROR',
    sources: ['Service/default/inside', 'Service/default/web'],
    why: [
      `inside.default.${svc} is an alias of web.default.${svc}, which answers every type`,
      `web.default.${svc} has A records, made by Service/default/web`,
    ],
  },
  {
    question: `v4.default.${svc} AAAA`,
    rcode: 'NOERROR',
    sources: [],
    why: [`v4.default.${svc} exists and has A, but no AAAA`],
  },
  {
    question: `default.${svc} A`,
    rcode: 'NOERROR',
    sources: [],
    why: [`default.${svc} exists only because names below it do (an empty non-terminal)`],
  },
  {
    question: `x.nobody.default.${svc} A`,
    rcode: 'NXDOMAIN',
    sources: [],
    why: [`no object produces x.nobody.default.${svc}: the closest name that exists is default.${svc}`],
  },
  {
    question: 'example.org A',
    rcode: 'REFUSED',
    sources: [],
    why: [
      'example.org is outside our zones (cluster.local, 10.in-addr.arpa, 2.10.in-addr.arpa)',
      'example.org is forwarded upstream for clients that may recurse; other clients get this answer',
    ],
  },
  {
    question: `outside.default.${svc} A`,
    rcode: 'NOERROR',
    sources: ['Service/default/outside'],
    why: [
      `outside.default.${svc} is an alias of www.example.org, which answers every type`,
      'www.example.org is forwarded upstream for clients that may recurse',
    ],
  },
  {
    question: `self.default.${svc} A`,
    rcode: 'SERVFAIL',
    sources: [],
    why: [`the chain of aliases at self.default.${svc} is a loop or too long: change the externalName of one`],
  },
];

for (const { question, rcode, sources, why } of cases) {
  test(`explains ${question}`, () => {
    const [name = '', type = ''] = question.split(' ');
    const explained = explain(zones, { name, type: typeNumber(type) ?? assert.fail() });
    assert.equal(explained.rcode, rcode);
    assert.deepEqual(
      explained.answers.flatMap((each) => each.sources),
      sources,
    );
    assert.deepEqual(explained.why, why);
  });
}

test('names both sources of a record that two objects produce', () => {
  const two = sampleZones();
  const data = [{ type: 'A' as const, address: '10.96.0.1' }];
  two.put('Service/other/web', [{ owner: `web.default.${svc}`, type: 'A', ttl: 30, data }]);
  const { answers } = explain(two, { name: `web.default.${svc}`, type: 1 });
  assert.deepEqual(
    answers.map(({ sources }) => sources),
    [['Service/default/web', 'Service/other/web']],
  );
});

test('prints the answer in zone file format, with reasons', () => {
  assert.equal(
    printExplanation(explain(zones, { name: `_http._tcp.web.default.${svc}`, type: 33 })),
    `;; _http._tcp.web.default.${svc}. IN SRV
;; NOERROR, authoritative
;; answer
_http._tcp.web.default.${svc}. 30 IN SRV 0 100 80 web.default.${svc}. ; Service/default/web
;; additional
web.default.${svc}. 30 IN A 10.96.0.1 ; Service/default/web
web.default.${svc}. 30 IN AAAA fd00::1 ; Service/default/web
;; because _http._tcp.web.default.${svc} has SRV records, made by Service/default/web
`,
  );
});

test('includes the reasons why objects do not produce the name', () => {
  const whyMissing = (name: string): readonly string[] => [`Service ${name.split('.')[0]} has no ready endpoints`];
  const { why } = explain(zones, { name: `lost.default.${svc}`, type: 1 }, { whyMissing });
  assert.equal(why.at(-1), 'Service nobody has no ready endpoints');
});
