// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/definition"
	"slipway.dev/slipway/internal/application/render"
)

// shipped are the definitions that broken applications use.
func shipped(t *testing.T) render.Definitions {
	t.Helper()
	all, err := definition.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	byName := definition.ByName(all)
	byName.Where = `namespace "default" or "slipway-system"`
	return byName
}

func component(t *testing.T, text string) oamv1beta1.ApplicationComponent {
	t.Helper()
	var c oamv1beta1.ApplicationComponent
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

var context = render.Context{Name: "web", AppName: "shop", Namespace: "default", AppRevision: "shop-v3", AppRevisionNum: 3, Revision: "web-v2"}

// renderAll renders as the controller does.
func renderAll(c oamv1beta1.ApplicationComponent, definitions render.Definitions) (render.Result, error) {
	request, err := render.NewRequest(c, definitions, context)
	if err != nil {
		return render.Result{}, err
	}
	result, err := render.Evaluate(request, nil)
	if err != nil {
		return render.Result{}, err
	}
	return render.Dress(request, result, render.ScopeWithoutCluster)
}

// brokenApplications are components with a mistake in them, and what is said of it.
var brokenApplications = map[string]struct{ component, want string }{
	"a type that there is not": {`{name: web, type: webservise, properties: {image: "a:v1"}}`,
		`component "web": type: there is no ComponentDefinition "webservise" in namespace "default" or "slipway-system": use one of advanced-statefulset, cafedeployment, cloneset, daemon, statefulset, webservice, worker; did you mean webservice?`},
	"a trait that there is not": {`{name: web, type: webservice, properties: {image: "a:v1"}, traits: [{type: scale}]}`,
		`component "web": traits[0].type: there is no TraitDefinition "scale" in namespace "default" or "slipway-system": use one of annotations, env, expose, hpa, ingress, labels, resource, scaler, sidecar; did you mean scaler?`},
	"a name that is too long": {`{name: ` + strings.Repeat("a", 60) + `, type: webservice, properties: {image: "a:v1"}}`,
		`name: has 60 characters; at most 52 are allowed`},
	"a name that is none": {`{name: Web_1, type: webservice, properties: {image: "a:v1"}}`,
		`component "Web_1": name: is not allowed: use lower case letters, digits and '-'`},
	"a property that is misspelt": {`{name: web, type: worker, properties: {imagee: "a:v1"}}`,
		`component "web": properties.imagee: is no property: use one of addRevisionLabel, annotations, args, cmd, cpu, env, hostAliases, image, imagePullPolicy, imagePullSecrets, labels, limit, livenessProbe, memory, readinessProbe, volumeMounts; did you mean image?`},
	"a property that is missing": {`{name: web, type: worker, properties: {}}`,
		`component "web": properties.image: is missing: use string`},
	"no properties at all": {`{name: web, type: worker}`,
		`component "web": properties.image: is missing: use string`},
	"a number in place of a text": {`{name: web, type: worker, properties: {image: 1}}`,
		`component "web": properties.image: 1 is not allowed: use string`},
	"a text in place of a number": {`{name: web, type: webservice, properties: {image: "a:v1", port: "80"}}`,
		`component "web": properties.port: "80" is not allowed: use uint & >=1 & <=65535`},
	"a port beyond the last one": {`{name: web, type: webservice, properties: {image: "a:v1", port: 70000}}`,
		`component "web": properties.port: 70000 is not allowed: use uint & >=1 & <=65535`},
	"a text in place of a list": {`{name: web, type: worker, properties: {image: "a:v1", cmd: sleep}}`,
		`component "web": properties.cmd: "sleep" is not allowed: use a list of string`},
	"a list with a number": {`{name: web, type: worker, properties: {image: "a:v1", cmd: [sleep, 1]}}`,
		`component "web": properties.cmd[1]: 1 is not allowed: use string`},
	"a value that is not among the choices": {`{name: web, type: worker, properties: {image: "a:v1", imagePullPolicy: Sometimes}}`,
		`component "web": properties.imagePullPolicy: "Sometimes" is not allowed: use one of "Always", "IfNotPresent", "Never"`},
	"a choice inside of a list": {`{name: web, type: webservice, properties: {image: "a:v1", ports: [{port: 80, protocol: HTTP}]}}`,
		`component "web": properties.ports[0].protocol: "HTTP" is not allowed: use one of "TCP", "UDP", "SCTP"`},
	"a field that is misspelt deep inside": {`{name: web, type: webservice, properties: {image: "a:v1", livenessProbe: {httpGet: {path: /, prot: 80}}}}`,
		`component "web": properties.livenessProbe.httpGet.prot: is no property: use one of host, httpHeaders, path, port, scheme`},
	"a field of a mount that is misspelt": {`{name: web, type: worker, properties: {image: "a:v1", volumeMounts: {emptyDir: [{name: a, mountpath: /a}]}}}`,
		`properties.volumeMounts.emptyDir[0].mountpath: is no property: use one of medium, mountPath, name, readOnly, subPath; did you mean mountPath?`},
	"a label that is no text": {`{name: web, type: worker, properties: {image: "a:v1", labels: {version: 2}}}`,
		`component "web": properties.labels.version: 2 is not allowed: use string`},
	"an empty list where one is needed": {`{name: web, type: cafedeployment, properties: {image: "a:v1", units: []}}`,
		`component "web": properties.units`},
	"a percentage that is none": {`{name: web, type: cloneset, properties: {image: "a:v1", maxUnavailable: many}}`,
		`component "web": properties.maxUnavailable: "many" is not allowed: use one of int, =~"^[0-9]+%$"`},
	"a property of a trait that is misspelt": {`{name: web, type: worker, properties: {image: "a:v1"}, traits: [{type: scaler, properties: {replica: 3}}]}`,
		`component "web": trait "scaler": properties.replica: is no property: use one of replicas; did you mean replicas?`},
	"fewer than no pods": {`{name: web, type: worker, properties: {image: "a:v1"}, traits: [{type: scaler, properties: {replicas: -1}}]}`,
		`component "web": trait "scaler": properties.replicas: -1 is not allowed: use `},
	"traits that contradict each other": {`{name: web, type: worker, properties: {image: "a:v1"}, traits: [{type: scaler, properties: {replicas: 3}}, {type: hpa}]}`,
		`component "web": trait "hpa": type: conflicts with trait "scaler" of the same component: use only one of them`},
	"a trait that does not apply": {`{name: web, type: daemon, properties: {image: "a:v1"}, traits: [{type: scaler, properties: {replicas: 3}}]}`,
		`component "web": trait "scaler": type: does not apply to "daemon" (daemonsets.apps): use it with deployments.apps, statefulsets.apps`},
	"a port of a trait that is no number": {`{name: web, type: webservice, properties: {image: "a:v1"}, traits: [{type: expose, properties: {port: [http]}}]}`,
		`component "web": trait "expose": properties.port[0]: "http" is not allowed: use uint & >=1 & <=65535`},
	"a trait without what it needs": {`{name: web, type: webservice, properties: {image: "a:v1"}, traits: [{type: ingress, properties: {http: {/: 80}}}]}`,
		`component "web": trait "ingress": properties.domain: is missing: use string`},
	"the same trait twice": {`{name: web, type: webservice, properties: {image: "a:v1"}, traits: [{type: expose, properties: {port: [80]}}, {type: expose, properties: {port: [81]}}]}`,
		`component "web": trait "expose": outputs.service.metadata.name: Service "web-expose" is given by outputs.service already; each object needs a name of its own`},
	"a label that is not one": {`{name: web, type: webservice, properties: {image: "a:v1"}, traits: [{type: labels, properties: {team: "a b"}}]}`,
		`component "web": definition "webservice": output.metadata.labels["team"]: "a b" is not allowed: a label has at most 63 letters`},
	"a label that belongs to us": {`{name: web, type: webservice, properties: {image: "a:v1"}, traits: [{type: labels, properties: {app.oam.dev/name: other}}]}`,
		`component "web": trait "labels": patch.spec.template.metadata.labels["app.oam.dev/name"]: contradicts the workload: the trait wants "other", and the workload has "shop"`},
	"properties that are very large": {`{name: web, type: worker, properties: {image: "` + strings.Repeat("a", 70000) + `"}}`,
		`component "web": properties: have 70012 bytes; at most 65536 are allowed`},
	"properties that are very deep": {`{name: web, type: worker, properties: {image: ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`,
		`component "web": properties: go deeper than 100 levels`},
	"too many traits": {`{name: web, type: worker, properties: {image: "a:v1"}, traits: [` + strings.Repeat("{type: scaler},", 51) + `]}`,
		`component "web": traits: has 51; at most 50 are allowed`},
}

func TestBrokenApplicationsAreToldWhatIsWrong(t *testing.T) {
	definitions := shipped(t)
	for sentence, test := range brokenApplications {
		t.Run(sentence, func(t *testing.T) {
			_, err := renderAll(component(t, test.component), definitions)
			judge(t, err, test.want)
		})
	}
}

// judge says what is missing in the message of an error.
func judge(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if render.ProblemsOf(err) == nil {
		t.Errorf("%v is a %T, want problems", err, err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error:\n  %s\nwant in it:\n  %s", err, want)
	}
}

const deployment = `output: {apiVersion: "apps/v1", kind: "Deployment", metadata: name: context.name`

// doubling names data of two to the power of steps.
func doubling(steps int) string {
	b := &strings.Builder{}
	b.WriteString("a0: {x: 1, y: 2}\n")
	for i := 1; i < steps; i++ {
		fmt.Fprintf(b, "a%d: {x: a%d, y: a%d}\n", i, i-1, i-1)
	}
	fmt.Fprintf(b, "%s, spec: a%d}\n", deployment, steps-1)
	return b.String()
}

// brokenDefinitions are templates of a component and, where there is one, of a trait with a mistake in them, and what is said of it.
var brokenDefinitions = map[string]struct{ template, trait, want string }{
	"a template that is empty":        {" ", "", `component "web": definition "mine": template: is empty`},
	"a template that is no CUE":       {"output: {", "", `component "web": definition "mine": template:1: `},
	"a template without output":       {"outputs: {}", "", `component "web": definition "mine": output: the template of "mine" gives none; it has to give the workload, a Deployment of apps/v1`},
	"an output of another kind":       {`output: {apiVersion: "v1", kind: "Pod"}`, "", `component "web": definition "mine": output: is a Pod of v1; spec.workload.definition of "mine" allows only a Deployment of apps/v1`},
	"an output without a kind":        {`output: {apiVersion: "apps/v1"}`, "", `component "web": definition "mine": output.kind: is missing`},
	"an output that is no object":     {`output: 3`, "", `component "web": definition "mine": output: has to be an object of Kubernetes`},
	"a field that is not settled":     {deployment + `, spec: replicas: int}`, "", `component "web": definition "mine": output.spec.replicas (template:1): incomplete value int`},
	"a name that there is not":        {deployment + `, spec: replicas: parameters.n}`, "", `component "web": definition "mine": template:1: output.spec.replicas: reference "parameters" not found`},
	"a context that there is not":     {deployment + `, spec: replicas: context.nothing}`, "", `component "web": definition "mine": output.spec.replicas`},
	"a contradiction in itself":       {deployment + `, spec: replicas: 1, spec: replicas: 2}`, "", `component "web": definition "mine": template:1: output.spec.replicas: conflicting values`},
	"a value that needs itself":       {deployment + `, spec: replicas: a}` + "\na: b + 1\nb: a - 1\n", "", `component "web": definition "mine": output.spec.replicas`},
	"a struct that contains itself":   {deployment + ", spec: #L}\n#L: {next: #L}\n", "", `structural cycle`},
	"an import of commands":           {"import \"tool/exec\"\n" + deployment + `}`, "", `component "web": definition "mine": template:1: import "tool/exec" is not allowed: a template reaches no files, no network and no commands; use only crypto/md5`},
	"an import of files":              {"import \"tool/file\"\n" + deployment + `}`, "", `import "tool/file" is not allowed`},
	"an import of the network":        {"import \"tool/http\"\n" + deployment + `}`, "", `import "tool/http" is not allowed`},
	"an import of somebody's package": {"import \"example.com/x\"\n" + deployment + `}`, "", `import "example.com/x" is not allowed`},
	"a file that is embedded":         {"@extern(embed)\n" + deployment + ", spec: _ @embed(file=secret.txt)}", "", `@extern is not allowed: a template reaches no files`},
	"a patch by a component":          {deployment + "}\npatch: spec: replicas: 1", "", `component "web": definition "mine": patch: only the template of a trait gives a patch`},
	"a template that is very long":    {deployment + "}\n//" + strings.Repeat("x", render.MaxTemplate), "", `component "web": definition "mine": template: has`},
	"data that is very large":         {"import \"strings\"\n" + deployment + `, spec: a: strings.Repeat("x", 600000)}`, "", `component "web": definition "mine": output.spec.a: all objects together have more than the 524288 bytes that are allowed`},
	"data that doubles":               {doubling(40), "", `all objects together have more than the 524288 bytes that are allowed`},
	"data that is very deep":          {deployment + ", spec: " + strings.Repeat("{a: ", 150) + "1" + strings.Repeat("}", 150) + "}", "", `goes deeper than 100 levels`},
	"another namespace":               {deployment + "}\noutputs: a: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: {name: \"a\", namespace: \"kube-system\"}}", "", `component "web": definition "mine": outputs.a.metadata.namespace: ConfigMap "a" is put into "kube-system": only the namespace of the application is allowed, "default"`},
	"an object of the whole cluster":  {deployment + "}\noutputs: a: {apiVersion: \"rbac.authorization.k8s.io/v1\", kind: \"ClusterRole\", metadata: name: \"all\"}", "", `component "web": definition "mine": outputs.a: "all" is a ClusterRole, which belongs to the whole cluster`},
	"a name that is too long":         {deployment + "}\noutputs: a: {apiVersion: \"v1\", kind: \"Service\", metadata: name: \"" + strings.Repeat("a", 70) + "\"}", "", `has 70 characters; at most 63 are allowed`},
	"two objects of one name":         {deployment + "}\noutputs: a: b\noutputs: c: b\nb: {apiVersion: \"v1\", kind: \"Service\", metadata: name: \"x\"}", "", `component "web": definition "mine": outputs.c.metadata.name: Service "x" is given by outputs.a already`},
	"a field of the API server":       {deployment + ", metadata: ownerReferences: []}", "", `component "web": definition "mine": output.metadata.ownerReferences: is not for a template`},
	"a label that is no text":         {deployment + ", metadata: labels: a: 1}", "", `component "web": definition "mine": output.metadata.labels["a"]: 1 is not allowed: use text, in quotes`},
	"a trait that gives nothing":      {deployment + "}", "x: 1", `component "web": trait "yours": template: gives neither patch nor outputs`},
	"a trait that gives a workload":   {deployment + "}", deployment + "}", `component "web": trait "yours": output: only the template of a component gives the workload`},
	"a patch that contradicts":        {deployment + ", spec: replicas: 2}", "patch: spec: replicas: 3", `component "web": trait "yours": patch.spec.replicas: contradicts the workload: the trait wants 3, and the workload has 2; only // +patchStrategy=retainKeys lets the trait win`},
	"a patch of another kind":         {deployment + ", spec: replicas: 2}", "patch: kind: \"Pod\"", `component "web": trait "yours": patch.kind: contradicts the workload`},
	"a patch of a container with no name": {deployment + ", spec: template: spec: containers: [{name: \"web\"}]}", "patch: spec: template: spec: containers: [{image: \"b\"}]",
		`component "web": trait "yours": patch.spec.template.spec.containers[0]: has no name, by which entries of this list are told apart`},
	"a patch of a list without a key": {deployment + ", spec: x: [1, 2]}", "patch: spec: x: [1]",
		`component "web": trait "yours": patch.spec.x: contradicts the workload: the trait has 1 entries and the workload 2`},
	"a strategy that there is not": {deployment + ", spec: x: [1, 2]}", "// +patchStrategy=jsonPatch\npatch: spec: x: [1]",
		`component "web": trait "yours": patch.spec.x: patchStrategy "jsonPatch" is not known: use one of replace, retainKeys`},
	"a patch of other objects":    {deployment + "}", "patchOutputs: a: {}\npatch: {}", `component "web": trait "yours": patchOutputs: is not supported`},
	"a patch that is no object":   {deployment + "}", "patch: 3", `component "web": trait "yours": patch: has to be an object`},
	"a trait for another cluster": {deployment + "}", "outputs: a: {apiVersion: \"v1\", kind: \"Namespace\", metadata: name: \"x\"}", `component "web": trait "yours": outputs.a: "x" is a Namespace, which belongs to the whole cluster`},
}

func TestBrokenDefinitionsAreToldWhatIsWrong(t *testing.T) {
	for sentence, test := range brokenDefinitions {
		t.Run(sentence, func(t *testing.T) {
			definitions := render.Definitions{
				Components: map[string]oamv1beta1.ComponentDefinition{"mine": {Spec: oamv1beta1.ComponentDefinitionSpec{
					Workload:  oamv1beta1.WorkloadType{Definition: oamv1beta1.WorkloadGVK{APIVersion: "apps/v1", Kind: "Deployment"}},
					Schematic: oamv1beta1.Schematic{CUE: oamv1beta1.CUE{Template: test.template}},
				}}},
				Traits: map[string]oamv1beta1.TraitDefinition{"yours": {Spec: oamv1beta1.TraitDefinitionSpec{Schematic: oamv1beta1.Schematic{CUE: oamv1beta1.CUE{Template: test.trait}}}}},
			}
			c := oamv1beta1.ApplicationComponent{Name: "web", Type: "mine", Properties: &runtime.RawExtension{Raw: []byte("{}")}}
			if test.trait != "" {
				c.Traits = []oamv1beta1.ApplicationTrait{{Type: "yours"}}
			}
			_, err := renderAll(c, definitions)
			judge(t, err, test.want)
		})
	}
}
