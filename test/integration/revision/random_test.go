// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
)

// choices are values that the server accepts, in JSON, by the member they are for.
type choices map[string][]string

var containerChoices = choices{
	"image":                    {`"nginx"`, `"nginx:1"`, `"r:5000/a@sha256:` + strings.Repeat("0", 64) + `"`, `"A/b:latest"`, `"Not Valid"`},
	"imagePullPolicy":          {`"Always"`, `"IfNotPresent"`, `"Never"`},
	"command":                  {`[]`, `["sh","-c"]`},
	"env":                      {`[]`, `[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},{"name":"B","value":"x"}]`, `[{"name":"C","valueFrom":{"resourceFieldRef":{"resource":"requests.memory","divisor":"1Mi"}}}]`},
	"securityContext":          {`{}`, `{"capabilities":{}}`, `{"runAsNonRoot":false}`, `{"seLinuxOptions":{}}`},
	"terminationMessagePath":   {`"/dev/termination-log"`, `"/x"`},
	"terminationMessagePolicy": {`"File"`, `"FallbackToLogsOnError"`},
	"tty":                      {`true`, `false`},
	"resizePolicy":             {`[]`, `[{"resourceName":"cpu","restartPolicy":"RestartContainer"}]`},
}

// runningChoices are only for containers that keep running.
var runningChoices = choices{
	"livenessProbe":  {`{"httpGet":{"port":80}}`, `{"exec":{"command":["a"]},"timeoutSeconds":1,"periodSeconds":20}`, `{"grpc":{"port":9}}`},
	"readinessProbe": {`{"tcpSocket":{"port":"a"},"successThreshold":2}`, `{"httpGet":{"port":80,"scheme":"HTTPS","httpHeaders":[{"name":"A","value":""}]}}`},
	"startupProbe":   {`{"grpc":{"port":9,"service":"s"},"failureThreshold":30}`},
	"lifecycle":      {`{}`, `{"preStop":{"httpGet":{"port":80}}}`, `{"postStart":{"exec":{"command":["a"]}},"preStop":{"sleep":{"seconds":3}}}`},
}

var specChoices = choices{
	"terminationGracePeriodSeconds": {`5`, `30`, `600`},
	"dnsPolicy":                     {`"ClusterFirst"`, `"Default"`},
	"dnsConfig":                     {`{}`, `{"searches":["a.b"]}`},
	"restartPolicy":                 {`"Always"`},
	"schedulerName":                 {`"default-scheduler"`, `"mine"`},
	"serviceAccount":                {`"old"`},
	"serviceAccountName":            {`"bot"`},
	"securityContext":               {`{}`, `{"runAsUser":0,"supplementalGroups":[]}`},
	"enableServiceLinks":            {`true`, `false`},
	"automountServiceAccountToken":  {`false`},
	"hostNetwork":                   {`true`, `false`},
	"hostPID":                       {`true`},
	"shareProcessNamespace":         {`false`},
	"affinity":                      {`{}`, `{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{}}]}}`},
	"nodeSelector":                  {`{}`, `{"zone":"a"}`},
	"topologySpreadConstraints":     {`[]`, `[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","nodeAffinityPolicy":"Honor"}]`},
	"readinessGates":                {`[{"conditionType":"InPlaceUpdateReady"}]`},
	"resources":                     {`{}`, `{"limits":{"cpu":"90","memory":"90Gi"}}`, `{"requests":{"cpu":"90"}}`, `{"limits":{"cpu":"90"},"requests":{"cpu":"80","memory":"80Gi"}}`},
}

var volumeChoices = []string{
	``, `"emptyDir":{}`, `"emptyDir":{"sizeLimit":"1024Ki"}`, `"hostPath":{"path":"/x"}`, `"secret":{"secretName":"s"}`, `"configMap":{"name":"c","defaultMode":420}`,
	`"downwardAPI":{"items":[{"path":"p","fieldRef":{"fieldPath":"metadata.name"}}]}`, `"projected":{"sources":[{"secret":{"name":"s"}}]}`,
	`"iscsi":{"targetPortal":"1.2.3.4","iqn":"iqn.2001-04.com.example:x","lun":1}`, `"rbd":{"monitors":["m"],"image":"i","pool":"p"}`, `"image":{"reference":"a"}`,
	`"scaleIO":{"gateway":"g","system":"s","secretRef":{"name":"s"},"volumeName":"v"}`, `"persistentVolumeClaim":{"claimName":"c"}`,
	`"ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1.5Gi"}}}}}`,
}

// amountChoices are small enough for the amounts of the pod as a whole.
var amountChoices = []string{
	`{}`, `{"limits":{"cpu":"1"}}`, `{"limits":{"cpu":"1500m","memory":"1024Mi"},"requests":{"cpu":0.25}}`, `{"requests":{"memory":"1e6","cpu":"3m"}}`,
	`{"limits":{"example.com/gpu":1}}`, `{"limits":{"hugepages-2Mi":"4Mi","memory":"1Gi"}}`, `{"requests":{"cpu":"0"},"limits":{"cpu":"2"}}`,
}

func (c choices) draw(t *rapid.T, into map[string]string) {
	members := rapid.SliceOfDistinct(rapid.SampledFrom(keys(c)), rapid.ID[string]).Draw(t, "members")
	for _, member := range members {
		into[member] = rapid.SampledFrom(c[member]).Draw(t, member)
	}
}

func keys(c choices) []string {
	return slices.Sorted(maps.Keys(c)) // rapid needs the same order in every run to reproduce a failure
}

func drawContainer(t *rapid.T, name string, init bool, port int) map[string]string {
	c := map[string]string{"name": `"` + name + `"`, "image": `"a"`}
	containerChoices.draw(t, c)
	sidecar := init && rapid.Bool().Draw(t, "sidecar")
	if sidecar {
		c["restartPolicy"] = `"Always"`
	}
	if !init || sidecar {
		runningChoices.draw(t, c)
	} else {
		delete(c, "resizePolicy")
	}
	if rapid.Bool().Draw(t, "amounts") {
		c["resources"] = rapid.SampledFrom(amountChoices).Draw(t, "resources")
	}
	if rapid.Bool().Draw(t, "ports") {
		c["ports"] = fmt.Sprintf(`[{"containerPort":%d,"name":"a"},{"containerPort":%d,"protocol":"UDP"}]`, port, port)
	}
	return c
}

func object(members map[string]string) string {
	parts := make([]string, 0, len(members))
	for member, value := range members {
		parts = append(parts, `"`+member+`":`+value)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func drawTemplate(t *rapid.T) *corev1.PodTemplateSpec {
	spec := map[string]string{}
	specChoices.draw(t, spec)
	lists := map[string][]string{}
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		lists["containers"] = append(lists["containers"], object(drawContainer(t, fmt.Sprintf("c%d", i), false, 100+i)))
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "init containers") {
		lists["initContainers"] = append(lists["initContainers"], object(drawContainer(t, fmt.Sprintf("i%d", i), true, 200+i)))
	}
	for i, source := range rapid.SliceOfN(rapid.SampledFrom(volumeChoices), 0, 4).Draw(t, "volumes") {
		lists["volumes"] = append(lists["volumes"], "{"+strings.Trim(fmt.Sprintf(`"name":"v%d",%s`, i, source), ",")+"}")
	}
	for member, items := range lists {
		spec[member] = "[" + strings.Join(items, ",") + "]"
	}
	template := &corev1.PodTemplateSpec{}
	raw := `{"metadata":{"labels":{"app":"web"}},"spec":` + object(spec) + `}`
	if err := json.Unmarshal([]byte(raw), template); err != nil {
		t.Fatalf("the choices do not make JSON: %v\n%s", err, raw)
	}
	return template
}

func TestServerMakesNoOtherRevisionOfRandomTemplates(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		for range 2 {
			template := drawTemplate(t)
			keep(t, template)
			templateCheck(t, ctx, template)
			podCheck(t, ctx, template)
		}
	})
}
