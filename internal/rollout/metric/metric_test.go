// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/rollout/outbound"
	"slipway.dev/slipway/test/receiver"
)

func newClient(t *testing.T, o outbound.Options) *outbound.Client {
	t.Helper()
	o.Clock = clock.RealClock{}
	c, err := outbound.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

const prometheus, web = rolloutv1alpha1.PrometheusProvider, rolloutv1alpha1.WebProvider

func question(provider rolloutv1alpha1.MetricProviderType, address, query string) Question {
	return Question{Key: "0/errors", Provider: rolloutv1alpha1.MetricProvider{Type: provider, Address: address}, Query: query}
}

// answer is what Prometheus sends.
func answer(resultType, result string) receiver.Behaviour {
	return receiver.Answer(200, `{"status":"success","data":{"resultType":"`+resultType+`","result":`+result+`}}`)
}

func TestPrometheus(t *testing.T) {
	again := func(said string, after time.Duration) errand.Attempt[measure.Sample] {
		return errand.Again[measure.Sample](said, after)
	}
	number := func(v float64) errand.Attempt[measure.Sample] { return errand.Done(measure.Of(v)) }
	nothing := func(message string) errand.Attempt[measure.Sample] {
		return errand.Done(measure.Sample{Kind: measure.NoData, Message: message})
	}
	for name, tt := range map[string]struct {
		answer receiver.Behaviour
		want   errand.Attempt[measure.Sample]
	}{
		"a scalar is a number":               {answer("scalar", `[1700000000.1,"0.25"]`), number(0.25)},
		"so is a vector of one":              {answer("vector", `[{"metric":{"a":"b"},"value":[1700000000.1,"7"]}]`), number(7)},
		"infinity is a number":               {answer("scalar", `[1700000000.1,"+Inf"]`), number(math.Inf(1))},
		"NaN is no data":                     {answer("vector", `[{"metric":{},"value":[1700000000.1,"NaN"]}]`), nothing("the query gives NaN")},
		"an empty vector is no data":         {answer("vector", `[]`), nothing("the query gives nothing")},
		"two numbers are a fault":            {answer("vector", `[{"metric":{},"value":[1,"7"]},{"metric":{"a":"b"},"value":[1,"8"]}]`), fault("the query gives 2 numbers, and one is wanted: use sum, max or another aggregation")},
		"a range of numbers is a fault":      {answer("matrix", `[]`), fault("the query gives a matrix, and a number is wanted")},
		"a text is a fault":                  {answer("string", `[1,"x"]`), fault("its answer is not a number from Prometheus: look at the address and the query")},
		"a histogram is a fault":             {answer("vector", `[{"metric":{},"histogram":[1,{"count":"1","sum":"1","buckets":[]}]}]`), fault("the query gives a histogram, and a number is wanted: use histogram_quantile or another function of it")},
		"a query that is refused is a fault": {receiver.Answer(400, `{"status":"error","errorType":"bad_data","error":"1:3: parse error: unexpected \"hunter22\""}`), fault(`it answers 400 Bad Request: 1:3: parse error: unexpected "[hidden]"`)},
		"so is one that cannot be computed":  {receiver.Answer(422, `{"status":"error","errorType":"execution","error":"too many samples"}`), fault("it answers 422 Unprocessable Entity: too many samples")},
		"so is a password that is wrong":     {receiver.Answer(401, "no such user"), fault("it answers 401 Unauthorized: no such user")},
		"so is another server":               {receiver.Answer(200, "<html>"), fault("its answer is not a number from Prometheus: look at the address and the query")},
		"so is a redirect":                   {receiver.Redirect(302, "/login"), fault("it answers 302 Found (redirects of a POST are not followed): bad response code 302")},
		"so is more than can be read":        {receiver.Answer(200, strings.Repeat(" ", maxBody+1)), fault("the answer has more than 1048576 bytes")},
		"too many questions come again":      {receiver.AnswerWith(429, "slow down", map[string]string{"Retry-After": "60"}), again("it answers 429 Too Many Requests: slow down", time.Minute)},
		"a server that starts comes again":   {receiver.Answer(503, "Service Unavailable"), again("it answers 503 Service Unavailable: Service Unavailable", 0)},
		"half an answer comes again":         {receiver.AnswerWith(200, `{"status":"success"`, map[string]string{"Content-Length": "100"}), again("it gives no answer: the connection was closed before the answer was complete", 0)},
		"a lost answer comes again":          {receiver.Lose(), again("it gives no answer: the connection was closed before the answer was complete", 0)},
	} {
		t.Run(name, func(t *testing.T) {
			r := receiver.For(t)
			r.On("/prom/api/v1/query", tt.answer)
			q := question(prometheus, r.URL("/prom/?tenant=hunter22"), "up")
			if got := Errand(newClient(t, outbound.Options{}), q).Try(t.Context()); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
			if got := string(r.Deliveries("")[0].Body); !strings.Contains(got, "query=up") || !strings.Contains(got, "timeout=30s") {
				t.Errorf("asked %s", got)
			}
		})
	}
}

func TestWarningsAreLogged(t *testing.T) {
	r := receiver.For(t)
	r.On("/api/v1/query", receiver.Answer(200, `{"status":"success","warnings":["metric is no counter, hunter22"],"data":{"resultType":"scalar","result":[1,"1"]}}`))
	var logged []string
	log := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	Errand(newClient(t, outbound.Options{}), question(prometheus, r.URL("?token=hunter22"), "up")).Try(logr.NewContext(t.Context(), log))
	if all := strings.Join(logged, "\n"); !strings.Contains(all, `"warning"="metric is no counter, [hidden]"`) {
		t.Errorf("logged: %s", all)
	}
}

func TestWeb(t *testing.T) {
	const document = `{"rate":0.25,"text":" 3.5 ","word":"high","none":null,"yes":true,"big":12345678901,"a.b":{"c":1},
		"items":[{"name":"web","v":1},{"name":"db","v":2}],"empty":[]}`
	nothing := func(message string) errand.Attempt[measure.Sample] {
		return errand.Done(measure.Sample{Kind: measure.NoData, Message: message})
	}
	number := func(v float64) errand.Attempt[measure.Sample] { return errand.Done(measure.Of(v)) }
	for name, tt := range map[string]struct {
		query  string
		answer receiver.Behaviour
		want   errand.Attempt[measure.Sample]
	}{
		"a number":                         {"{.rate}", nil, number(0.25)},
		"a path without braces":            {"rate", nil, number(0.25)},
		"a path from the root":             {"$.items[1].v", nil, number(2)},
		"a large number":                   {".big", nil, number(12345678901)},
		"a string that is a number":        {"{.text}", nil, number(3.5)},
		"an item that is looked for":       {`{.items[?(@.name=="db")].v}`, nil, number(2)},
		"a key with a dot":                 {`{['a\.b'].c}`, nil, number(1)},
		"a key at any depth":               {`{..c}`, nil, number(1)},
		"the last item":                    {`{.items[-1:].v}`, nil, number(2)},
		"a key that is missing":            {"{.missing.rate}", nil, nothing("the JSONPath finds nothing")},
		"an item that is missing":          {`{.items[?(@.name=="x")].v}`, nil, nothing("the JSONPath finds nothing")},
		"null":                             {"{.none}", nil, nothing("the JSONPath finds null")},
		"no items":                         {"{.empty[*].v}", nil, nothing("the JSONPath finds nothing")},
		"a word":                           {"{.word}", nil, fault(`the JSONPath finds "high", which is not a number`)},
		"true":                             {"{.yes}", nil, fault("the JSONPath finds something that is not a number")},
		"an object":                        {"{.items[0]}", nil, fault("the JSONPath finds something that is not a number")},
		"several numbers":                  {"{.items[*].v}", nil, fault("the JSONPath finds 2 values, and one is wanted")},
		"a path that is none":              {"{.rate", nil, fault("JSONPath {.rate: unclosed action")},
		"a loop":                           {"{range .items[*]}{.v}{end}", nil, fault("JSONPath {range .items[*]}{.v}{end}: it is not one path, such as {.errors.rate}")},
		"a loop without an end":            {"{range .items[*]}", nil, fault(`JSONPath {range .items[*]}: "range" is not known`)},
		"text around":                      {"{.rate}%", nil, fault("JSONPath {.rate}%: it is not one path, such as {.errors.rate}")},
		"a union":                          {"{.items[0,1].v}", nil, fault("JSONPath {.items[0,1].v}: it has a union, and one number is wanted")},
		"two descents":                     {"{..items..v}", nil, fault(`JSONPath {..items..v}: it has more than one ".."`)},
		"a redirect to the same host":      {"{.rate}", receiver.Redirect(302, "/doc"), number(0.25)},
		"a document that is missing":       {"{.rate}", receiver.Answer(404, "no such page: hunter22"), fault("it answers 404 Not Found: no such page: [hidden]")},
		"what is not JSON":                 {"{.rate}", receiver.Answer(200, "<html>"), fault("it answers something that is not JSON: invalid character '<' looking for beginning of value")},
		"more than can be read":            {"{.rate}", receiver.Answer(200, strings.Repeat(" ", maxBody+1)), fault("the answer has more than 1048576 bytes")},
		"a server that is not ready":       {"{.rate}", receiver.Answer(503, ""), errand.Again[measure.Sample]("it answers 503 Service Unavailable", 0)},
		"an answer that is lost":           {"{.rate}", receiver.Lose(), errand.Again[measure.Sample]("it gives no answer: the connection was closed before the answer was complete", 0)},
		"an answer that is lost in middle": {"{.rate}", receiver.AnswerWith(200, "{", map[string]string{"Content-Length": "10"}), errand.Again[measure.Sample]("it gives no answer: the connection was closed before the answer was complete", 0)},
	} {
		t.Run(name, func(t *testing.T) {
			r := receiver.For(t)
			r.On("/doc", receiver.Answer(200, document))
			path := "/doc"
			if tt.answer != nil {
				path = "/other"
				r.On(path, tt.answer)
			}
			q := question(web, r.URL(path+"?token=hunter22"), tt.query)
			if got := Errand(newClient(t, outbound.Options{}), q).Try(t.Context()); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestAHostThatMustNotBeAskedIsAFault(t *testing.T) {
	for _, provider := range []rolloutv1alpha1.MetricProviderType{prometheus, web} {
		c := newClient(t, outbound.Options{AllowHosts: []string{"a.test"}})
		got := Errand(c, question(provider, "http://b.test", ".a")).Try(t.Context())
		if want := fault("it is not asked: refused: host b.test is not among those that may be called"); got != want {
			t.Errorf("%s: got  %+v\nwant %+v", provider, got, want)
		}
	}
}

func TestCredentialsAreSent(t *testing.T) {
	for _, provider := range []rolloutv1alpha1.MetricProviderType{prometheus, web} {
		r := receiver.For(t)
		q := question(provider, r.URL("/"), ".a")
		q.Credentials = outbound.Credentials{Token: "t0ken"}
		Errand(newClient(t, outbound.Options{}), q).Try(t.Context())
		if got := r.Deliveries("")[0].Header.Get("Authorization"); got != "Bearer t0ken" {
			t.Errorf("%s: Authorization: got %q", provider, got)
		}
	}
}

func TestCredentialsOf(t *testing.T) {
	for name, tt := range map[string]struct {
		secret map[string][]byte
		want   outbound.Credentials
		fails  string
	}{
		"a token":                      {map[string][]byte{"token": []byte("abc\n"), "other": nil}, outbound.Credentials{Token: "abc"}, ""},
		"a password":                   {map[string][]byte{"username": []byte("me\r\n"), "password": []byte(" pw \n")}, outbound.Credentials{Username: "me", Password: " pw "}, ""},
		"an empty password":            {map[string][]byte{"username": []byte("me"), "password": nil}, outbound.Credentials{Username: "me"}, ""},
		"neither":                      {map[string][]byte{"user": []byte("me")}, outbound.Credentials{}, `it needs "token"`},
		"half":                         {map[string][]byte{"username": []byte("me")}, outbound.Credentials{}, `it needs "token"`},
		"an empty token":               {map[string][]byte{"token": []byte("\n")}, outbound.Credentials{}, `it needs "token"`},
		"both":                         {map[string][]byte{"token": []byte("abc"), "password": []byte("pw")}, outbound.Credentials{}, "leave one"},
		"a token that no header takes": {map[string][]byte{"token": []byte("a\nbc")}, outbound.Credentials{}, "characters that no header can have"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := CredentialsOf(tt.secret)
			if got != tt.want || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("got error %v, want %q", err, tt.fails)
			}
		})
	}
}

func TestAVersionIsOfAllThatIsAsked(t *testing.T) {
	first := question(prometheus, "http://a.test", "up")
	first.Credentials.Token = "hunter22"
	for what, edit := range map[string]func(*Question){
		"query":    func(q *Question) { q.Query = "down" },
		"address":  func(q *Question) { q.Provider.Address = "http://b.test" },
		"token":    func(q *Question) { q.Credentials.Token = "another" },
		"insecure": func(q *Question) { q.Provider.InsecureSkipVerify = true },
	} {
		other := first
		edit(&other)
		if other.version() == first.version() {
			t.Errorf("another %s has the same version", what)
		}
	}
	if again := first; again.version() != first.version() || strings.Contains(first.version(), "hunter22") {
		t.Errorf("versions of the same question: %s and %s", again.version(), first.version())
	}
}

func TestAQuestionThatIsForgottenIsBrokenOff(t *testing.T) {
	for _, provider := range []rolloutv1alpha1.MetricProviderType{prometheus, web} {
		r := receiver.For(t)
		left := make(chan struct{})
		path := map[rolloutv1alpha1.MetricProviderType]string{prometheus: "/api/v1/query", web: "/"}[provider]
		r.On(path, receiver.Leaving(left))
		delivered := r.Next()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-delivered
			cancel()
		}()
		Errand(newClient(t, outbound.Options{}), question(provider, r.URL("/"), ".a")).Try(ctx)
		<-left
	}
}
