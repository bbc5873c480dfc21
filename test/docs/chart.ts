// deploy/helm/fairlead: the Helm chart, from the manifests of `fairlead install` (src/cli/install).
import { dump } from 'js-yaml';

import { definitionsFor, groupsOf, versionsOf } from '../../src/cli/install/definitions.ts';
import type { Manifest } from '../../src/cli/install/manifest.ts';
import { labelled } from '../../src/cli/install/manifest.ts';
import type { PartManifest } from '../../src/cli/install/parts.ts';
import { manifestsOf } from '../../src/cli/install/parts.ts';
import type { ValueSource } from '../../src/cli/install/source.ts';
import type { Value } from '../../src/cli/install/values.ts';
import { installedParts, sections } from '../../src/cli/install/values.ts';
import { version } from '../../src/cli/program.ts';

const folder = 'deploy/helm/fairlead';
const generated = '# `npm run docs` writes this file from src/cli/install.\n';

/** An expression of a template in place of a value. */
const expression = (text: string): string => `⟦${text}⟧`;

/** An argument of a function of the template language. */
const argument = (text: string): string => {
  const [, inner] = /^⟦([^⟧]*)⟧$/.exec(text) ?? [];
  if (inner !== undefined) return `(${inner})`;
  return text.includes('%n')
    ? `(printf ${JSON.stringify(text.replace('%n', '%s'))} .Release.Namespace)`
    : JSON.stringify(text);
};

const path = (section: string, key: string): string => `.Values.${section}.${key}`;

/** The values as expressions. JSON is YAML, so that no expression needs an indentation. */
const template: ValueSource = {
  namespace: expression('.Release.Namespace | toJson'),
  managedBy: expression('.Release.Service | toJson'),
  image: expression('printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | toJson'),
  value: (section, key) => expression(`toJson ${path(section, key)}`),
  listed: (items, section, key) =>
    expression(`concat (list ${items.map(argument).join(' ')}) ${path(section, key)} | toJson`),
  extended: (labels, section, key) => {
    const pairs = Object.entries(labels).map(
      ([name, value]) => `${argument(name)} ${argument(value.replace(' | toJson', ''))}`,
    );
    // Placed only.
    return expression(`merge (dict ${pairs.join(' ')}) ${path(section, key)} | toJson`) as unknown as Record<
      string,
      string
    >;
  },
};

const chartLabels = {
  'app.kubernetes.io/version': expression('.Chart.AppVersion | toJson'),
  'helm.sh/chart': expression('printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | toJson'),
};

/** A manifest as a template: expressions are whole scalars, which are written without quotes. */
const yaml = (manifest: Manifest): string =>
  dump(typeof manifest.metadata.labels === 'string' ? manifest : labelled(manifest, chartLabels), {
    lineWidth: -1,
    noRefs: true,
  }).replace(
    /(['"]?)⟦([^⟧]*)⟧\1/g,
    (_, quote: string, text: string) =>
      `{{ ${quote === "'" ? text.replaceAll("''", "'") : quote === '"' ? text.replaceAll('\\"', '"') : text} }}`,
  );

const conditional = ({ manifest, when }: PartManifest): string => {
  const terms = when.map(([section, key]) => path(section, key));
  return `{{- if ${terms.length === 1 ? terms[0] : `and ${terms.join(' ')}`} }}\n---\n${yaml(manifest)}{{- end }}\n`;
};

/** Renders a definition if the cluster lacks it, or if this release installed it. */
const definitionHelper = `{{- /*
"true" if a release has to define a kind: the cluster does not serve it, or the release defines it already. Fails if another
definition has none of the versions that this program reads.
*/ -}}
{{- define "fairlead.defines" -}}
{{- $root := .root -}}
{{- $existing := dict -}}
{{- if $root.Capabilities.APIVersions.Has "apiextensions.k8s.io/v1/CustomResourceDefinition" -}}
{{- $existing = lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" .name | default dict -}}
{{- end -}}
{{- $served := false -}}
{{- range .served -}}{{- if $root.Capabilities.APIVersions.Has . -}}{{- $served = true -}}{{- end -}}{{- end -}}
{{- $release := dig "metadata" "annotations" "meta.helm.sh/release-name" "" $existing -}}
{{- if and $existing (eq $release $root.Release.Name) -}}true
{{- else if $served -}}
{{- else if $existing -}}
{{- fail (printf "CustomResourceDefinition %s of the cluster serves none of the versions that this program reads: %s" .name (join ", " .served)) -}}
{{- else -}}true
{{- end -}}
{{- end -}}
`;

function definitionTemplate(definition: Manifest): string {
  const { name } = definition.metadata;
  const served = versionsOf(name).map(({ group, version: each, kind }) => JSON.stringify(`${group}/${each}/${kind}`));
  const parts = installedParts.filter((part) => groupsOf(part).some((group) => name.endsWith(`.${group}`)));
  const enabled = parts.map((part) => `.Values.${part}.enabled`);
  const call = `include "fairlead.defines" (dict "root" . "name" ${JSON.stringify(name)} "served" (list ${served.join(' ')}))`;
  const labels = { ...definition.metadata.labels, 'app.kubernetes.io/managed-by': template.managedBy };
  const text = yaml({ ...definition, metadata: { ...definition.metadata, labels } });
  const keep = `{{- if .Values.crds.keep }}\n    helm.sh/resource-policy: keep\n{{- end }}`;
  const annotated = text.includes('\n  annotations:\n')
    ? text.replace('\n  annotations:\n', `\n  annotations:\n${keep}\n`)
    : text.replace(
        'metadata:\n',
        `metadata:\n{{- if .Values.crds.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n{{- end }}\n`,
      );
  return `{{- if and .Values.crds.install ${enabled.length === 1 ? enabled[0] : `(or ${enabled.join(' ')})`} }}\n{{- if ${call} }}\n---\n${annotated}{{- end }}\n{{- end }}\n`;
}

const comment = (text: string, indent: string): string => `${indent}# ${text}\n`;

const valuesFile = (): string =>
  `# Values of the chart, with their defaults.\n${generated}` +
  Object.entries(sections)
    .map(([name, section]) => {
      const lines = Object.entries(section).map(
        ([key, value]) =>
          comment(value.description, '  ') + indented(dump({ [key]: value.default }, { lineWidth: -1 })),
      );
      return `\n${name}:\n${lines.join('')}`;
    })
    .join('');

const indented = (text: string): string => text.replace(/^(?=.)/gm, '  ');

const described = ({ description, schema }: Value): object => ({ description, ...schema });

const schemaFile = (): string => {
  const properties = Object.fromEntries(
    Object.entries(sections).map(([name, section]) => [
      name,
      {
        type: 'object',
        additionalProperties: false,
        properties: Object.fromEntries(Object.entries(section).map(([key, value]) => [key, described(value)])),
      },
    ]),
  );
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    additionalProperties: false,
    properties: { global: { type: 'object' }, ...properties },
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
};

const chartFile = (): string =>
  generated +
  dump({
    apiVersion: 'v2',
    name: 'fairlead',
    description: 'Kubernetes Services: DNS, multi-cluster Services, controllers, service proxy and load balancers',
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.28.0-0',
  });

const notes = `{{- if .Values.multicluster.enabled }}
Make clusters members of the set, this one included if it shares Services:
  fairlead mcs join CONTEXT --hub THIS_CONTEXT --namespace {{ .Release.Namespace }}
{{- end }}
{{- if .Values.dns.enabled }}
The DNS server is the Service fairlead-dns in {{ .Release.Namespace }}.
{{- end }}
`;

/** Path → the text of each file of the chart. */
export const chartFiles: Readonly<Record<string, () => string>> = {
  [`${folder}/Chart.yaml`]: chartFile,
  [`${folder}/values.yaml`]: valuesFile,
  [`${folder}/values.schema.json`]: schemaFile,
  [`${folder}/templates/NOTES.txt`]: () => notes,
  [`${folder}/templates/_definitions.tpl`]: () => definitionHelper,
  [`${folder}/templates/definitions.yaml`]: () =>
    generated + definitionsFor(installedParts.flatMap(groupsOf)).map(definitionTemplate).join(''),
  ...Object.fromEntries(
    installedParts.map((part) => [
      `${folder}/templates/${part}.yaml`,
      () => generated + manifestsOf(part, template).map(conditional).join(''),
    ]),
  ),
};
