// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"
)

const (
	amount   = "must be a whole number from 0 to 2147483647, or a percentage from 0% to 100% such as 25% or 12.5%"
	aURL     = "must be a URL with http or https and a host"
	aNumber  = "must be a whole number from -2147483648 to 2147483647, or a decimal number in quotes"
	aTime    = "must be a duration of at least 1s"
	leave    = "must leave something to the last batch, and the percentages of those before it add up to "
	firstOne = batches + "[0]"
)

func inBatch(key string, value any) []spoil {
	return []spoil{{batches, list{plus(batch(int64(1)), key, value)}}}
}

func oneHook(key string, value any) []spoil {
	return []spoil{{hooks, list{plus(hook("pre-batch-rollout", "gate"), key, value)}}}
}

func oneMetric(key string, value any) []spoil {
	return []spoil{{metrics, list{plus(metric("errors"), key, value)}}}
}

func without(base object, key string) object {
	base = plus(base, key, nil)
	delete(base, key)
	return base
}

var invalidReferences = map[string]invalidCase{
	"a rollout needs a spec":     {[]spoil{{"-spec", nil}}, "spec", "Required value"},
	"a target is needed":         {[]spoil{{"-spec.targetRef", nil}}, "spec.targetRef", "Required value"},
	"a plan is needed":           {[]spoil{{"-spec.rolloutPlan", nil}}, plan, "Required value"},
	"a target has a name":        {[]spoil{{"-spec.targetRef.name", nil}}, "spec.targetRef.name", "Required value"},
	"the name is not empty":      {[]spoil{{"spec.targetRef.name", ""}}, "spec.targetRef.name", "at least 1 chars"},
	"the name can be one":        {[]spoil{{"spec.targetRef.name", "Web_v2"}}, "spec.targetRef.name", "should match"},
	"a target has a kind":        {[]spoil{{"-spec.targetRef.kind", nil}}, "spec.targetRef.kind", "Required value"},
	"the kind can be one":        {[]spoil{{"spec.targetRef.kind", "apps/Deployment"}}, "spec.targetRef.kind", "should match"},
	"a target has a version":     {[]spoil{{"-spec.targetRef.apiVersion", nil}}, "spec.targetRef.apiVersion", "Required value"},
	"the version has no kind":    {[]spoil{{"spec.targetRef.apiVersion", "apps/v1/Deployment"}}, "spec.targetRef.apiVersion", "should match"},
	"the version is not missing": {[]spoil{{"spec.targetRef.apiVersion", "apps/"}}, "spec.targetRef.apiVersion", "should match"},
	"there is one source at most": {
		[]spoil{{"spec.sourceRef", list{reference("Deployment", "a"), reference("Deployment", "b")}}}, "spec.sourceRef", "must have at most 1 item"},
	"a source has a name": {
		[]spoil{{"spec.sourceRef", list{object{"apiVersion": "apps/v1", "kind": "Deployment"}}}}, "spec.sourceRef[0].name", "Required value"},
	"the source is another object": {
		[]spoil{{"spec.sourceRef", list{reference("Deployment", "web-v2")}}},
		"spec.sourceRef", "must be another object than targetRef, and both are Deployment web-v2: leave it out"},
	"the source is of the same kind": {
		[]spoil{{"spec.sourceRef", list{reference("StatefulSet", "web-v1")}}},
		"spec.sourceRef", "must be of the same kind as targetRef, which is Deployment of apps/v1, and is StatefulSet of apps/v1"},
	"the source is of the same group": {
		[]spoil{{"spec.sourceRef", list{plus(reference("Deployment", "web-v1"), "apiVersion", "apps.example.com/v1")}}},
		"spec.sourceRef", "and is Deployment of apps.example.com/v1"},
}

func reference(kind, name string) object {
	return object{"apiVersion": "apps/v1", "kind": kind, "name": name}
}

var invalidPlans = map[string]invalidCase{
	"the strategy is one that exists": {
		[]spoil{{plan + ".rolloutStrategy", "Both"}}, plan + ".rolloutStrategy", `supported values: "IncreaseFirst", "DecreaseFirst"`},
	"the policy for failures is one that exists": {
		[]spoil{{plan + ".failurePolicy", "Ignore"}}, plan + ".failurePolicy", `supported values: "Fail", "Pause", "Revert"`},
	"a size is not negative":         {[]spoil{{plan + ".targetSize", int64(-1)}}, plan + ".targetSize", "greater than or equal to 0"},
	"a size is not too large":        {[]spoil{{plan + ".targetSize", int64(2147483648)}}, plan + ".targetSize", "less than or equal to 2147483647"},
	"a size is a number":             {[]spoil{{plan + ".targetSize", "10"}}, plan + ".targetSize", "must be of type integer"},
	"a partition is not negative":    {[]spoil{{plan + ".batchPartition", int64(-1)}}, plan + ".batchPartition", "greater than or equal to 0"},
	"a deadline is not negative":     {[]spoil{{plan + ".progressDeadlineSeconds", int64(-1)}}, plan + ".progressDeadlineSeconds", "greater than or equal to 0"},
	"there is a batch":               {[]spoil{{plan + ".numBatches", int64(0)}}, plan + ".numBatches", "greater than or equal to 1"},
	"there are at most 1000 batches": {[]spoil{{plan + ".numBatches", int64(1001)}}, plan + ".numBatches", "less than or equal to 1000"},
	"the number of batches is theirs": {
		[]spoil{{plan + ".numBatches", int64(3)}}, plan + ".numBatches", "must be left out, or be the number of rolloutBatches, which is 4, and is 3"},
	"at most 100 batches are written out": {
		[]spoil{{batches, repeat(101, func(int) any { return batch(int64(1)) })}}, batches, "must have at most 100 items"},
	"only the last batch takes the rest": {
		[]spoil{{batches, list{object{}, batch(int64(1)), object{}, object{}}}}, batches, "and these batches, counted from 0, have none: [0, 2]"},
	"the last batch is not nothing": {
		[]spoil{{batches, list{batch(int64(1)), batch(int64(0))}}}, batches, "must not have 0 replicas in the last batch"},
	"the only batch is not nothing": {
		[]spoil{{batches, list{batch(int64(0))}}}, batches, "must not have 0 replicas in the last batch"},
	"shares leave something to the last batch": {
		[]spoil{{batches, list{batch("60%"), batch("40%"), batch("10%")}}}, batches, leave + "100%, not to less than 100%"},
	"a share of all leaves nothing": {
		[]spoil{{batches, list{batch("100%"), object{}}}}, batches, leave + "100%"},
	"shares with decimals are added up": {
		[]spoil{{batches, list{batch("33.3%"), batch("33.3%"), batch("33.4%"), object{}}}}, batches, leave + "100%"},
	"tiny shares are added up exactly": {
		[]spoil{{batches, list{batch("99.999999%"), batch("0.000001%"), object{}}}}, batches, leave + "100%"},
	"shares that are too much, beside numbers": {
		[]spoil{{batches, list{batch(int64(1)), batch("75.5%"), batch("50%"), batch(int64(2))}}}, batches, leave + "125.5%"},
	"all numbers together are a size": {
		[]spoil{{batches, list{batch(int64(2147483647)), batch(int64(1))}}}, batches, "must not have more than 2147483647 replicas in all batches together, and has 2147483648"},
}

var invalidBatches = map[string]invalidCase{
	"replicas are not negative":               {inBatch("replicas", int64(-1)), firstOne + ".replicas", amount},
	"replicas are not too many":               {inBatch("replicas", int64(2147483648)), firstOne + ".replicas", amount},
	"replicas as a string need a percent":     {inBatch("replicas", "4"), firstOne + ".replicas", amount},
	"replicas are not a negative percent":     {inBatch("replicas", "-5%"), firstOne + ".replicas", amount},
	"replicas are at most all":                {inBatch("replicas", "101%"), firstOne + ".replicas", amount},
	"replicas are at most all, in decimals":   {inBatch("replicas", "100.01%"), firstOne + ".replicas", amount},
	"a percentage has digits after its point": {inBatch("replicas", "12.%"), firstOne + ".replicas", amount},
	"a percentage has six decimals at most":   {inBatch("replicas", "1.1234567%"), firstOne + ".replicas", amount},
	"a percentage is short":                   {inBatch("replicas", "1.00000000000000%"), firstOne + ".replicas", "may not be more than 16"},
	"replicas are no word":                    {inBatch("replicas", "all"), firstOne + ".replicas", amount},
	"replicas are whole":                      {inBatch("replicas", 1.5), firstOne + ".replicas", "must be of type integer"},
	"what is unavailable is not negative":     {inBatch("maxUnavailable", int64(-1)), firstOne + ".maxUnavailable", amount},
	"what is unavailable has a percent sign":  {inBatch("maxUnavailable", "1"), firstOne + ".maxUnavailable", amount},
	"no more than all is unavailable":         {inBatch("maxUnavailable", "200%"), firstOne + ".maxUnavailable", amount},
	"an interval between pods is a time":      {inBatch("instanceInterval", int64(-1)), firstOne + ".instanceInterval", "greater than or equal to 0"},
	"a batch begins no rollout": {
		inBatch("batchRolloutWebhooks", list{hook("pre-batch-rollout", "a"), hook("initialize-rollout", "b")}), firstOne + ".batchRolloutWebhooks[1].type",
		"must be pre-batch-rollout or post-batch-rollout in a batch, and is initialize-rollout: the others belong into rolloutWebhooks of the plan"},
	"a batch ends no rollout": {
		inBatch("batchRolloutWebhooks", list{hook("finalize-rollout", "a")}), firstOne + ".batchRolloutWebhooks[0].type", "and is finalize-rollout"},
	"hooks of a batch have names of their own": {
		inBatch("batchRolloutWebhooks", list{hook("pre-batch-rollout", "a"), hook("pre-batch-rollout", "a")}), firstOne + ".batchRolloutWebhooks",
		`must have each name once for a type, and these stand more than once: ["a", "a"]`},
	"metrics of a batch have names of their own": {
		inBatch("canaryMetric", list{metric("a"), metric("b"), metric("a")}), firstOne + ".canaryMetric",
		`must have each name once, and these stand more than once: ["a", "a"]`},
	"a batch has at most 20 hooks": {
		inBatch("batchRolloutWebhooks", numbered(21, func(name string) object { return hook("pre-batch-rollout", name) })),
		firstOne + ".batchRolloutWebhooks", "must have at most 20 items"},
	"a batch has at most 20 metrics": {inBatch("canaryMetric", numbered(21, metric)), firstOne + ".canaryMetric", "must have at most 20 items"},
	"a hook of a batch calls a server": {
		inBatch("batchRolloutWebhooks", list{plus(hook("pre-batch-rollout", "a"), "url", "/gate")}), firstOne + ".batchRolloutWebhooks[0].url", aURL},
	"a metric of a batch has a range": {
		inBatch("canaryMetric", list{without(metric("a"), "metricsRange")}), firstOne + ".canaryMetric[0].metricsRange", "must have min, max or both"},
}

func manyEntries(n int) object {
	all := object{}
	for i := range n {
		all[fmt.Sprint("k", i)] = "v"
	}
	return all
}

var invalidHooks = map[string]invalidCase{
	"the type of a hook is one that exists": {oneHook("type", "canary"), hooks + "[0].type", `supported values: "initialize-rollout", "pre-batch-rollout", "post-batch-rollout", "finalize-rollout"`},
	"a hook has a type":                     {[]spoil{{hooks, list{without(hook("", "a"), "type")}}}, hooks + "[0].type", "Required value"},
	"a hook has a name":                     {oneHook("name", ""), hooks + "[0].name", "at least 1 chars"},
	"a hook has a short name":               {oneHook("name", long(64)), hooks + "[0].name", "may not be more than 63"},
	"hooks have names of their own": {
		[]spoil{{hooks, list{hook("finalize-rollout", "a"), hook("finalize-rollout", "b"), hook("initialize-rollout", "b"), hook("finalize-rollout", "b")}}},
		hooks, `must have each name once for a type, and these stand more than once: ["b", "b"]`},
	"there are at most 20 hooks": {
		[]spoil{{hooks, numbered(21, func(name string) object { return hook("finalize-rollout", name) })}}, hooks, "must have at most 20 items"},
	"a hook calls something":             {[]spoil{{hooks, list{without(hook("finalize-rollout", "a"), "url")}}}, hooks + "[0].url", "Required value"},
	"a hook speaks HTTP":                 {oneHook("url", "ftp://hooks.test/gate"), hooks + "[0].url", aURL},
	"a hook calls a host":                {oneHook("url", "https:///gate"), hooks + "[0].url", aURL},
	"a port is no host":                  {oneHook("url", "https://:443/gate"), hooks + "[0].url", aURL},
	"a host has no spaces":               {oneHook("url", "https://hooks test/gate"), hooks + "[0].url", aURL},
	"a URL is not a word":                {oneHook("url", "gate"), hooks + "[0].url", aURL},
	"a URL is not endless":               {oneHook("url", "http://a.test/"+long(2048)), hooks + "[0].url", "may not be more than 2048"},
	"the method is one of three":         {oneHook("method", "DELETE"), hooks + "[0].method", `supported values: "POST", "GET", "PUT"`},
	"an expected status is one of HTTP":  {oneHook("expectedStatus", list{int64(200), int64(99)}), hooks + "[0].expectedStatus[1]", "greater than or equal to 100"},
	"an expected status is not too high": {oneHook("expectedStatus", list{int64(600)}), hooks + "[0].expectedStatus[0]", "less than or equal to 599"},
	"at most 20 statuses are expected": {
		oneHook("expectedStatus", repeat(21, func(int) any { return int64(200) })), hooks + "[0].expectedStatus", "must have at most 20 items"},
	"a call takes some time":          {oneHook("timeoutSeconds", int64(0)), hooks + "[0].timeoutSeconds", "greater than or equal to 1"},
	"a call does not take for ever":   {oneHook("timeoutSeconds", int64(301)), hooks + "[0].timeoutSeconds", "less than or equal to 300"},
	"what is sent along is text":      {oneHook("metadata", object{"a": int64(1)}), hooks + "[0].metadata.a", "must be of type string"},
	"what is sent along is not much":  {oneHook("metadata", manyEntries(65)), hooks + "[0].metadata", "must have at most 64 items"},
	"what is sent along is not large": {oneHook("metadata", object{"a": long(1025)}), hooks + "[0].metadata.a", "may not be more than 1024"},
}

var invalidMetrics = map[string]invalidCase{
	"a metric has a name": {oneMetric("name", ""), metrics + "[0].name", "at least 1 chars"},
	"metrics have names of their own": {
		[]spoil{{metrics, list{metric("a"), metric("a")}}}, metrics, `must have each name once, and these stand more than once: ["a", "a"]`},
	"there are at most 20 metrics":           {[]spoil{{metrics, numbered(21, metric)}}, metrics, "must have at most 20 items"},
	"a metric has a template":                {[]spoil{{metrics, list{without(metric("a"), "templateRef")}}}, metrics + "[0].templateRef", "Required value"},
	"a template has a name":                  {oneMetric("templateRef", object{}), metrics + "[0].templateRef.name", "Required value"},
	"a template is of our group":             {oneMetric("templateRef", object{"apiVersion": "v1", "name": "a"}), metrics + "[0].templateRef.apiVersion", `supported values: "", "standard.oam.dev/v1alpha1"`},
	"a template is of our kind":              {oneMetric("templateRef", object{"kind": "ConfigMap", "name": "a"}), metrics + "[0].templateRef.kind", `supported values: "", "MetricTemplate"`},
	"a metric has a range":                   {[]spoil{{metrics, list{without(metric("a"), "metricsRange")}}}, metrics + "[0].metricsRange", "must have min, max or both"},
	"a range has an end":                     {oneMetric("metricsRange", object{}), metrics + "[0].metricsRange", "must have min, max or both"},
	"an end is a number":                     {oneMetric("metricsRange", object{"min": "low"}), metrics + "[0].metricsRange.min", aNumber},
	"an end is not empty":                    {oneMetric("metricsRange", object{"max": ""}), metrics + "[0].metricsRange.max", aNumber},
	"an end has no unit":                     {oneMetric("metricsRange", object{"max": "5%"}), metrics + "[0].metricsRange.max", aNumber},
	"an end has no exponent":                 {oneMetric("metricsRange", object{"max": "1e-3"}), metrics + "[0].metricsRange.max", aNumber},
	"an end has digits after its point":      {oneMetric("metricsRange", object{"max": "1."}), metrics + "[0].metricsRange.max", aNumber},
	"a decimal number stands in quotes":      {oneMetric("metricsRange", object{"max": 0.5}), metrics + "[0].metricsRange.max", "must be of type integer"},
	"an end without quotes is not too large": {oneMetric("metricsRange", object{"max": int64(2147483648)}), metrics + "[0].metricsRange.max", aNumber},
	"an end is not endless":                  {oneMetric("metricsRange", object{"max": "0." + "12345678901234567890123456789012"}), metrics + "[0].metricsRange.max", "may not be more than 32"},
	"a range goes upward":                    {oneMetric("metricsRange", object{"min": int64(2), "max": int64(1)}), metrics + "[0].metricsRange.min", "must not be above max, which is 1, and is 2"},
	"a range of decimals goes upward":        {oneMetric("metricsRange", object{"min": "0.5", "max": "0.25"}), metrics + "[0].metricsRange.min", "must not be above max, which is 0.25, and is 0.5"},
	"a mixed range goes upward":              {oneMetric("metricsRange", object{"min": "-0.5", "max": int64(-1)}), metrics + "[0].metricsRange.min", "must not be above max, which is -1, and is -0.5"},
	"an interval is a second at least":       {oneMetric("interval", "999ms"), metrics + "[0].interval", aTime},
	"an interval has a unit":                 {oneMetric("interval", "60"), metrics + "[0].interval", aTime},
	"an interval is not negative":            {oneMetric("interval", "-1m"), metrics + "[0].interval", aTime},
	"an interval has units that are read":    {oneMetric("interval", "1 day"), metrics + "[0].interval", aTime},
	"an interval is not empty":               {oneMetric("interval", ""), metrics + "[0].interval", aTime},
	"a sample is needed":                     {oneMetric("count", int64(0)), metrics + "[0].count", "greater than or equal to 1"},
	"a limit of failures is not negative":    {oneMetric("failureLimit", int64(-1)), metrics + "[0].failureLimit", "greater than or equal to 0"},
	"what no data means is one of three":     {oneMetric("noData", "Pass"), metrics + "[0].noData", `supported values: "Wait", "Fail", "Ignore"`},
}

func TestInvalidRolloutTraitsAreRefusedByFieldAndRule(t *testing.T) {
	refuse(t, soundRolloutTrait, invalidReferences, invalidPlans, invalidBatches, invalidHooks, invalidMetrics)
}
