import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';

import { dnsOptionsOf } from './options.ts';
import { UsageError } from '../errors.ts';
import { readCorefile, reverseRange } from './corefile.ts';

/** `name=value` lines, then `line: note` ones. */
const print = (text: string): readonly string[] => {
  const { settings, notes } = readCorefile(text);
  return [
    ...Array.from(settings, ([name, values]) => values.map((value) => `${name}=${value}`)).flat(),
    ...notes.map(({ line, text: note }) => `${line}: ${note}`),
  ];
};

suite('a Corefile', () => {
  const table: readonly { name: string; given: string; want: readonly string[] }[] = [
    {
      name: 'of kubeadm',
      given: `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}`,
      want: [
        'lameduck=5s',
        'health-listen=:8080',
        'ready-listen=:8181',
        'cluster-domain=cluster.local',
        'pods=insecure',
        'ttl=30',
        'metrics-listen=:9153',
        'forward-max-concurrent=1000',
        'cache-max-ttl=30',
        'cache-max-negative-ttl=30',
      ],
    },
    {
      name: 'with stub zones in both notations',
      given: `.:53 {
  kubernetes example.local 10.96.0.0/12 7.0.10.in-addr.arpa
  forward corp.example 10.0.0.1 10.0.0.2:5353
  forward . 192.0.2.1 dns://192.0.2.2 { # with a comment
    force_tcp
    policy sequential
  }
}
lab.example:53 other.example { errors
  cache 30
  forward . 10.9.0.1
}`,
      want: [
        'cluster-domain=example.local',
        'reverse-zones=10.96.0.0/12,10.0.7.0/24',
        'stub-zone=corp.example=10.0.0.1,10.0.0.2:5353',
        'stub-zone=lab.example=10.9.0.1',
        'stub-zone=other.example=10.9.0.1',
        'upstream=192.0.2.1,192.0.2.2',
        'upstream-tcp=true',
        'cache-max-ttl=30',
        'cache-max-negative-ttl=30',
      ],
    },
    {
      name: 'with all options of the kubernetes plugin',
      given: `.:1053 {
  kubernetes cluster.local clusterset.local second.local {
    endpoint_pod_names
    namespaces a b
    noendpoints
    ignore empty_service
    zonal
    multicluster clusterset.local
    kubeconfig /etc/kube/config admin
    labels app=x
  }
  autopath @kubernetes
  transfer {
    to *
  }
}`,
      want: [
        'listen=:1053',
        'cluster-domain=cluster.local',
        'endpoint-pod-names=true',
        'namespaces=a,b',
        'no-endpoints=true',
        'ignore-empty-service=true',
        'zonal=true',
        'clusterset-domain=clusterset.local',
        'search-completion=true',
        'transfer-to=0.0.0.0/0,::/0',
        '2: only one cluster domain is supported: ignored "second.local"',
        '9: pass --kubeconfig /etc/kube/config to the command',
        '10: kubernetes labels is not supported: ignored',
      ],
    },
    {
      name: 'with snippets, cache options and unknown directives',
      given: `(common) {
  cache 300 {
    success 5000 600 10
    denial 5000 30
    prefetch 10 1m
    serve_stale 2h
  }
  bind 10.0.0.10 fd00::10
}
. {
  import common
  forward . tls://192.0.2.1 192.0.2.3
  hosts {
    10.0.0.1 example.org
  }
  template IN AAAA . {
    rcode NOERROR
  }
}`,
      want: [
        'cache-max-ttl=600',
        'cache-max-negative-ttl=30',
        'cache-entries=5000',
        'cache-min-ttl=10',
        'serve-stale=2h',
        'listen=10.0.0.10:53',
        'listen=[fd00::10]:53',
        'upstream=192.0.2.3',
        '12: upstreams are queried over UDP and TCP, not tls: ignored "tls://192.0.2.1"',
        '13: hosts is not supported: ignored',
        '16: template is not supported: ignored, see filter-aaaa',
      ],
    },
    { name: 'without directives', given: '# nothing\n', want: [] },
  ];
  for (const { name, given, want } of table) {
    test(name, () => {
      assert.deepEqual(print(given).toSorted(), want.toSorted());
      dnsOptionsOf(readCorefile(given).settings);
    });
  }

  const broken: readonly (readonly [given: string, want: RegExp])[] = [
    ['.:53 {\n  errors\n', /^line 1: "\{" is not closed$/],
    ['.:53\n', /^line 1: expected "\{" after the zones of a server$/],
    ['.:53 {\n}\n}\n', /^line 3: unexpected "\}"$/],
    ['. {\n  hosts "a\n}', /^line 2: unterminated quote$/],
    ['(a) {\n  import a\n}\n. {\n  import a\n}', /^line 2: snippets import each other$/],
  ];
  for (const [given, want] of broken) {
    test(`rejects ${JSON.stringify(given)}`, () =>
      assert.throws(() => readCorefile(given), { message: want, code: 'USAGE' }));
  }

  test('parses any text or rejects it with a line number', () => {
    const word = fc.constantFrom(
      '.',
      '.:53',
      '{',
      '}',
      '\n',
      'kubernetes',
      'forward',
      'cache',
      '30',
      '"',
      '#',
      'import',
      '(a)',
      'a',
      'pods',
      'constructor',
      '__proto__',
      'to',
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 40 }), (words) => {
        try {
          readCorefile(words.join(' '));
        } catch (error) {
          assert.ok(error instanceof UsageError && /^line \d+: /.test(error.message), String(error));
        }
      }),
    );
  });
});

suite('the CIDR of a reverse zone', () => {
  const table: readonly (readonly [given: string, want: string | undefined])[] = [
    ['10.in-addr.arpa', '10.0.0.0/8'],
    ['96.10.in-addr.arpa.', '10.96.0.0/16'],
    ['4.3.2.1.in-addr.arpa', '1.2.3.4/32'],
    ['d.f.ip6.arpa', 'fd00::/8'],
    ['8.b.d.0.1.0.0.2.IP6.ARPA', '2001:db8::/32'],
    ['300.in-addr.arpa', undefined],
    ['5.4.3.2.1.in-addr.arpa', undefined],
    ['xx.ip6.arpa', undefined],
    ['example.org', undefined],
  ];
  for (const [given, want] of table)
    test(`${given} is ${want ?? 'none'}`, () => assert.equal(reverseRange(given), want));
});
