{{- /*
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
