// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// variant is members of the main container and of the pod spec, JSON without braces.
type variant struct {
	container, spec string
	// templateOnly: a pod needs more than this server has, or an admission plugin changes it.
	templateOnly bool
}

func (v variant) template(t *testing.T) *corev1.PodTemplateSpec {
	t.Helper()
	template, err := v.read()
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func (v variant) read() (*corev1.PodTemplateSpec, error) {
	join := func(a, b string) string { return strings.Trim(a+","+b, ",") }
	image := `"image":"nginx:1"`
	if strings.Contains(v.container, `"image":`) {
		image = ""
	}
	raw := `{"metadata":{"labels":{"app":"web"}},"spec":{` +
		join(`"containers":[{`+join(join(`"name":"main"`, image), v.container)+`}]`, v.spec) + `}}`
	template := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal([]byte(raw), template); err != nil {
		return nil, fmt.Errorf("the variant is not JSON: %w\n%s", err, raw)
	}
	return template, nil
}

func volume(source string) string { return `"volumes":[{"name":"a"` + source + `}]` }

func probe(handler string) string { return `"livenessProbe":{` + handler + `}` }

func image(name string) string { return `"image":"` + name + `"` }

var variants = map[string]variant{
	"the least there is":             {},
	"a pull policy":                  {container: `"imagePullPolicy":"Never"`},
	"termination messages":           {container: `"terminationMessagePath":"/x","terminationMessagePolicy":"FallbackToLogsOnError"`},
	"no grace":                       {spec: `"terminationGracePeriodSeconds":0`},
	"a grace":                        {spec: `"terminationGracePeriodSeconds":60`},
	"another scheduler":              {spec: `"schedulerName":"mine"`},
	"a DNS policy":                   {spec: `"dnsPolicy":"Default"`},
	"a DNS config":                   {spec: `"dnsPolicy":"None","dnsConfig":{"nameservers":["1.1.1.1"],"options":[{"name":"ndots"}]}`},
	"an empty DNS config":            {spec: `"dnsConfig":{}`},
	"an empty affinity":              {spec: `"affinity":{"nodeAffinity":{},"podAffinity":{}}`},
	"empty security contexts":        {container: `"securityContext":{"capabilities":{}}`, spec: `"securityContext":{}`},
	"security contexts":              {container: `"securityContext":{"runAsUser":1,"capabilities":{"drop":["ALL"]}}`, spec: `"securityContext":{"fsGroup":1,"sysctls":[]}`},
	"a service account":              {spec: `"serviceAccountName":"bot"`},
	"a service account, old name":    {spec: `"serviceAccount":"bot"`},
	"two service accounts":           {spec: `"serviceAccountName":"bot","serviceAccount":"old"`},
	"no service links":               {spec: `"enableServiceLinks":false`},
	"host namespaces":                {spec: `"hostPID":true,"hostIPC":true`},
	"the host's network":             {container: `"ports":[{"containerPort":80},{"containerPort":81,"hostPort":81,"protocol":"UDP"}]`, spec: `"hostNetwork":true,"initContainers":[{"name":"i","image":"a","ports":[{"containerPort":82}]}]`},
	"no user namespace of its own":   {spec: `"hostUsers":true`},
	"one process namespace":          {spec: `"shareProcessNamespace":true`},
	"ports":                          {container: `"ports":[{"containerPort":80},{"containerPort":53,"protocol":"UDP","name":"dns","hostPort":53}]`},
	"plain variables":                {container: `"env":[{"name":"A"},{"name":"B","value":"b"}]`},
	"variables from fields":          {container: `"env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},{"name":"B","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}]`},
	"variables from amounts":         {container: `"resources":{"limits":{"cpu":1}},"env":[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}},{"name":"B","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1000m"}}}]`},
	"variables from files":           {container: `"env":[{"name":"A","valueFrom":{"fileKeyRef":{"volumeName":"a","path":"x","key":"K"}}}]`, spec: volume(``)},
	"variables from objects":         {container: `"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}],"envFrom":[{"configMapRef":{"name":"c"}}]`},
	"a probe over HTTP":              {container: probe(`"httpGet":{"port":80}`)},
	"a probe over HTTPS":             {container: probe(`"httpGet":{"port":"web","scheme":"HTTPS","path":"/ok","httpHeaders":[]},"timeoutSeconds":2,"periodSeconds":3,"failureThreshold":4`)},
	"a probe over TCP":               {container: probe(`"tcpSocket":{"port":80},"initialDelaySeconds":1`)},
	"a probe over gRPC":              {container: probe(`"grpc":{"port":80}`)},
	"a probe over gRPC of a service": {container: probe(`"grpc":{"port":80,"service":"x"},"terminationGracePeriodSeconds":5`)},
	"a probe by a command":           {container: probe(`"exec":{"command":["true"]}`)},
	"the other two probes":           {container: `"readinessProbe":{"httpGet":{"port":80},"successThreshold":2},"startupProbe":{"grpc":{"port":1}}`},
	"an empty lifecycle":             {container: `"lifecycle":{}`},
	"lifecycle handlers":             {container: `"lifecycle":{"postStart":{"httpGet":{"port":80}},"preStop":{"httpGet":{"port":81,"path":"/q"}}}`},
	"lifecycle by command and sleep": {container: `"lifecycle":{"postStart":{"exec":{"command":["a"]}},"preStop":{"sleep":{"seconds":1}}}`},
	"limits only":                    {container: `"resources":{"limits":{"cpu":"1","memory":"1Gi"}}`},
	"requests only":                  {container: `"resources":{"requests":{"cpu":"1"}}`},
	"limits and some requests":       {container: `"resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}}`},
	"empty amounts":                  {container: `"resources":{"limits":{},"requests":{}}`},
	"spellings of amounts":           {container: `"resources":{"limits":{"cpu":"1500m","memory":"1073741824","ephemeral-storage":"1e9"},"requests":{"cpu":1.5}}`},
	"amounts below a thousandth":     {container: `"resources":{"limits":{"cpu":"0.1m"}}`},
	"large pages":                    {container: `"resources":{"limits":{"hugepages-2Mi":"4Mi","cpu":"1","memory":"1Gi"}}`},
	"extended resources":             {container: `"resources":{"limits":{"example.com/gpu":2}}`},
	"resources of an init container": {spec: `"initContainers":[{"name":"i","image":"a","resources":{"limits":{"cpu":"1"}}}]`},
	"overhead":                       {spec: `"overhead":{"cpu":"0.01m"}`, templateOnly: true},
	"no pod resources":               {spec: `"resources":{}`},
	"pod limits":                     {spec: `"resources":{"limits":{"cpu":"2","memory":"1Gi"}}`},
	"pod requests":                   {spec: `"resources":{"requests":{"cpu":"2"}}`},
	"pod limits over requests":       {container: `"resources":{"requests":{"cpu":"1"}}`, spec: `"resources":{"limits":{"cpu":"2","memory":"1Gi"}}`},
	"pod limits over limits":         {container: `"resources":{"limits":{"cpu":"1"}}`, spec: `"resources":{"limits":{"cpu":"2","memory":"1Gi"}}`},
	"pod limits over large pages":    {container: `"resources":{"limits":{"hugepages-2Mi":"4Mi","cpu":"1"}}`, spec: `"resources":{"limits":{"cpu":"2"}}`},
	"pod requests over large pages":  {container: `"resources":{"limits":{"hugepages-2Mi":"4Mi","cpu":"1"}}`, spec: `"resources":{"requests":{"cpu":"2"}}`},
	"pod limits over init and sidecar": {
		container: `"resources":{"requests":{"cpu":"100m"}}`,
		spec: `"initContainers":[{"name":"a","image":"a","resources":{"requests":{"cpu":"300m"}}},` +
			`{"name":"b","image":"a","restartPolicy":"Always","resources":{"requests":{"cpu":"200m","memory":"1Mi"}}},` +
			`{"name":"c","image":"a","resources":{"requests":{"cpu":"1","memory":"10Mi"}}}],"resources":{"limits":{"cpu":"4","memory":"1Gi"}}`,
	},
	"a sidecar":                   {spec: `"initContainers":[{"name":"s","image":"a:latest","restartPolicy":"Always","livenessProbe":{"httpGet":{"port":80}}}]`},
	"spread":                      {spec: `"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"web"}}}]`},
	"spread over everything":      {spec: `"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway","labelSelector":{},"nodeTaintsPolicy":"Honor"}]`},
	"apart from each other":       {spec: `"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{},"namespaceSelector":{}}]}}`},
	"near each other":             {spec: `"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"topologyKey":"zone"}}]}}`},
	"chosen nodes":                {spec: `"nodeSelector":{"a":"b"},"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}}`},
	"tolerations":                 {spec: `"tolerations":[{"operator":"Exists"},{"key":"a","effect":"NoExecute","tolerationSeconds":5,"operator":"Equal"}]`},
	"an operating system":         {spec: `"os":{"name":"linux"}`},
	"gates and aliases":           {spec: `"readinessGates":[{"conditionType":"a.b/c"}],"hostAliases":[{"ip":"1.2.3.4"}],"imagePullSecrets":[{"name":"s"}],"schedulingGates":[{"name":"a.b/g"}]`},
	"mounts":                      {container: `"volumeMounts":[{"name":"a","mountPath":"/a"},{"name":"a","mountPath":"/b","readOnly":true,"subPath":"x"}]`, spec: volume(``)},
	"a volume without a source":   {spec: volume(``)},
	"an empty directory":          {spec: volume(`,"emptyDir":{}`)},
	"an empty directory, limited": {spec: volume(`,"emptyDir":{"medium":"Memory","sizeLimit":"1024Mi"}`)},
	"a host path":                 {spec: volume(`,"hostPath":{"path":"/a"}`)},
	"a host directory":            {spec: volume(`,"hostPath":{"path":"/a","type":"Directory"}`)},
	"a secret":                    {spec: volume(`,"secret":{"secretName":"s"}`)},
	"a secret with a mode":        {spec: volume(`,"secret":{"secretName":"s","defaultMode":256,"items":[{"key":"k","path":"p"}]}`)},
	"a config map":                {spec: volume(`,"configMap":{"name":"c"}`)},
	"a downward volume":           {spec: volume(`,"downwardAPI":{"items":[{"path":"l","fieldRef":{"fieldPath":"metadata.labels"}}]}`)},
	"a downward volume, amounts":  {spec: volume(`,"downwardAPI":{"items":[{"path":"l","resourceFieldRef":{"containerName":"main","resource":"limits.cpu"}}]}`)},
	"a projected volume": {spec: `"serviceAccountName":"bot",` + volume(`,"projected":{"sources":[{"serviceAccountToken":{"path":"t"}},`+
		`{"downwardAPI":{"items":[{"path":"l","fieldRef":{"fieldPath":"metadata.name"}}]}},{"configMap":{"name":"c"}},{"secret":{"name":"s"}}]}`)},
	"a projected token, short":  {spec: `"serviceAccount":"bot",` + volume(`,"projected":{"defaultMode":256,"sources":[{"serviceAccountToken":{"path":"t","expirationSeconds":600,"audience":"x"}}]}`)},
	"an empty projected volume": {spec: volume(`,"projected":{"sources":[]}`)},
	"an iSCSI volume":           {spec: volume(`,"iscsi":{"targetPortal":"1.2.3.4","iqn":"iqn.2001-04.com.example:x","lun":0}`)},
	"an RBD volume":             {spec: volume(`,"rbd":{"monitors":["a"],"image":"i"}`)},
	"a ScaleIO volume":          {spec: volume(`,"scaleIO":{"gateway":"g","system":"s","secretRef":{"name":"s"},"volumeName":"v"}`)},
	"an Azure disk":             {spec: volume(`,"azureDisk":{"diskName":"d","diskURI":"https://x.blob.core.windows.net/vhds/x.vhd"}`)},
	"a claim":                   {spec: volume(`,"persistentVolumeClaim":{"claimName":"c"}`)},
	"a CSI volume":              {spec: volume(`,"csi":{"driver":"a.b"}`)},
	"an NFS volume":             {spec: volume(`,"nfs":{"server":"s","path":"/"}`)},
	"an image volume":           {spec: volume(`,"image":{"reference":"r/a"}`)},
	"an image volume, tagged":   {spec: volume(`,"image":{"reference":"r/a:1"}`)},
	"an ephemeral claim": {spec: volume(`,"ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},` +
		`"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1024Mi"}}}}}`)},
	"an ephemeral block claim": {spec: volume(`,"ephemeral":{"volumeClaimTemplate":` +
		`{"spec":{"accessModes":["ReadWriteOnce"],"volumeMode":"Block","resources":{"requests":{"storage":"0.0001"}}}}}`)},
}

// images are references whose tag decides the pull policy, or that have none because they are not valid.
var images = []string{
	"nginx", "nginx:latest", "nginx:1", "registry:5000/nginx", "registry:5000/nginx:1", "localhost:5000", "localhost/a", "a.b/c",
	"a_b.c/d", "A/b", "Nginx", "nginx:", "nginx:Latest", "a//b", "a___b", "a__b", "-a", "[::1]:5000/a", "a.b:c/d", "$(IMAGE)", "nginx/",
	"docker.io/nginx:latest", "index.docker.io/nginx",
	"nginx@sha256:" + strings.Repeat("a", 64), "nginx:latest@sha256:" + strings.Repeat("a", 64), "nginx:1@sha256:" + strings.Repeat("a", 64),
	"nginx:latest@sha256:" + strings.Repeat("A", 64), "nginx:latest@sha256:" + strings.Repeat("a", 63), "nginx:latest@sha512:" + strings.Repeat("a", 128),
	"nginx:latest@sha384:" + strings.Repeat("0", 96), "nginx:latest@md5:" + strings.Repeat("a", 32), "nginx@", strings.Repeat("a", 64), strings.Repeat("a", 63),
	strings.Repeat("a", 247), strings.Repeat("a", 248), "quay.io/" + strings.Repeat("a", 255), "quay.io/" + strings.Repeat("a", 256),
	"docker.io/" + strings.Repeat("a", 247), "docker.io/" + strings.Repeat("a", 248), "docker.io/a/" + strings.Repeat("a", 253),
	"nginx:" + strings.Repeat("a", 128), "nginx:" + strings.Repeat("a", 129), "nginx:latest:latest", "a_b:5/c", "1.2.3.4/a", "a-.b/c", "LOCAL/a:latest",
}

func TestServerMakesNoOtherRevision(t *testing.T) {
	all := map[string]variant{}
	for sentence, v := range variants {
		all[sentence] = v
	}
	for _, name := range images {
		all["the image "+name] = variant{container: image(name)}
	}
	for sentence, v := range all {
		t.Run(sentence, func(t *testing.T) {
			template := v.template(t)
			onlyWhereKept(t, template)
			templateCheck(t, t.Context(), template)
			if !v.templateOnly {
				podCheck(t, t.Context(), template)
			}
		})
	}
}

func TestServerDropsDeadAnnotations(t *testing.T) {
	template := variant{}.template(t)
	template.Annotations = map[string]string{"pod.beta.kubernetes.io/init-containers": "[]", "pod.alpha.kubernetes.io/init-container-statuses": "[]"}
	templateCheck(t, t.Context(), template)
	template.Annotations["team"] = "a"
	templateCheck(t, t.Context(), template)
}
