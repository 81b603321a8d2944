{{/*
Decodes what a template of Kueue's chart rendered. fromYaml reports a failure as a
key of the result.
Usage: include "fleet.decode" (list "manager/manager.yaml" .) | fromJson
*/}}
{{- define "fleet.decode" -}}
{{- $file := index . 0 }}
{{- $object := include (print "upstream/" $file) (index . 1) | fromYaml }}
{{- if hasKey $object "Error" }}
{{- fail (printf "failed to decode Kueue's %s: %s" $file $object.Error) }}
{{- end }}
{{- $object | toJson }}
{{- end }}

{{/*
The values below fleet, as JSON, with the defaults of this chart where they are
missing: helm upgrade --reuse-values keeps the values of the chart that was
installed before, which may be Kueue's own.
*/}}
{{- define "fleet.values" -}}
{{- $values := deepCopy (default (dict) .Values.fleet) }}
{{- range $key, $section := (.Files.Get "fleet-values.yaml" | fromYaml).fleet }}
{{- if not (hasKey $values $key) }}
{{- $_ := set $values $key $section }}
{{- else if kindIs "map" $section }}
{{- range $name, $value := $section }}
{{- if not (hasKey (index $values $key) $name) }}
{{- $_ := set (index $values $key) $name $value }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $values | toJson }}
{{- end }}

{{/*
The manager's image.
*/}}
{{- define "fleet.image" -}}
{{- $image := (include "fleet.values" . | fromJson).image }}
{{- $repository := required "fleet.image.repository must be set to where make image-push put the image; or set fleet.enabled=false to run Kueue's own" $image.repository }}
{{- if $image.digest }}
{{- printf "%s@%s" $repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) }}
{{- end }}
{{- end }}

{{/*
The configuration file that the user gave, decoded, as JSON.
*/}}
{{- define "fleet.managerConfig" -}}
{{- .Values.managerConfig.controllerManagerConfigYaml | fromYaml | toJson }}
{{- end }}

{{/*
Says "file" if Kueue's configuration file has feature gates. Kueue refuses them
there and on the command line together.
*/}}
{{- define "fleet.gatesPlace" -}}
{{- $config := include "fleet.managerConfig" . | fromJson }}
{{- if $config.featureGates }}file{{ else }}flag{{ end }}
{{- end }}

{{/*
Name of the ConfigMap with the FleetConfiguration.
*/}}
{{- define "fleet.configName" -}}
{{ include "kueue.fullname" . }}-fleet-config
{{- end }}
