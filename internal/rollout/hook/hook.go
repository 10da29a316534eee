// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/outbound"
)

// KeyHeader is the header with the key of a call.
const KeyHeader = "Idempotency-Key"

// maxBody is how many bytes of an answer are read; more than fits in a message, as there may be secrets to take out.
const maxBody = 4 << 10

// Call is one call of a webhook.
type Call struct {
	// Key is the same for each delivery of the call, and different for each call. Characters that a header cannot have, and %,
	// are sent as %XX.
	Key string
	// Webhook that is called. Fields that are absent have their defaults.
	Webhook rolloutv1alpha1.RolloutWebhook
	// Namespace and Name of the rollout.
	Namespace, Name string
	// Phase that the rollout is in: a RollingState or a BatchRollingState.
	Phase string
}

// Answer is what a webhook has decided.
type Answer struct {
	// Passed is whether the rollout may go on; otherwise the webhook has rejected it.
	Passed bool
	// Message says what was answered, without secrets.
	Message string
}

// Errand is the call as something that a desk can have done.
func Errand(client *outbound.Client, c Call) errand.Errand[Answer] {
	return errand.Errand[Answer]{
		Key: c.Key, Version: c.version(),
		Try: func(ctx context.Context) errand.Attempt[Answer] { return try(ctx, client, c) },
	}
}

// body is what is sent.
type body struct {
	Name      string             `json:"name"`
	Namespace string             `json:"namespace"`
	Phase     string             `json:"phase"`
	Metadata  *map[string]string `json:"metadata,omitempty"`
}

func (c Call) body() body {
	return body{Name: c.Name, Namespace: c.Namespace, Phase: c.Phase, Metadata: c.Webhook.Metadata}
}

// version is another one when anything is that a delivery depends on. It tells nothing about the URL, which may hold secrets.
func (c Call) version() string {
	text, err := json.Marshal(struct {
		Hook rolloutv1alpha1.RolloutWebhook
		Body body
	}{c.Webhook, c.body()})
	if err != nil {
		panic(fmt.Sprintf("hook: strings, numbers and maps of strings always have a JSON form: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// try delivers the call once.
func try(ctx context.Context, client *outbound.Client, c Call) errand.Attempt[Answer] {
	visit := outbound.Visit{
		Address: c.Webhook.URL,
		Timeout: time.Duration(max(ptr.Deref(c.Webhook.TimeoutSeconds, 10), 1)) * time.Second,
		MaxBody: maxBody,
		Stay:    c.isListed,
	}
	request := outbound.Request{
		Method: cmp.Or(c.Webhook.Method, http.MethodPost),
		Header: http.Header{KeyHeader: {`"` + escaped(c.Key) + `"`}},
	}
	if request.Method != http.MethodGet {
		text, err := json.Marshal(c.body())
		if err != nil {
			return rejected("the body cannot be written: " + err.Error())
		}
		request.Body = text
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := client.Call(ctx, visit, request)
	switch {
	case errors.Is(err, outbound.ErrRefused):
		return rejected("it is not called: " + err.Error())
	case err != nil:
		return errand.Again[Answer]("it gives no answer: "+err.Error(), 0)
	}
	message := visit.Words(answer.Trace, string(answer.Body))
	switch {
	case c.isExpected(answer.Status):
		return errand.Done(Answer{Passed: true, Message: message})
	case outbound.IsTemporary(answer.Status):
		return errand.Again[Answer](message, answer.RetryAfter)
	default:
		return rejected(message)
	}
}

func rejected(why string) errand.Attempt[Answer] { return errand.Done(Answer{Message: why}) }

// isListed tells whether the plan names the status.
func (c Call) isListed(status int) bool {
	return slices.ContainsFunc(c.Webhook.ExpectedStatus, func(s int32) bool { return int(s) == status })
}

func (c Call) isExpected(status int) bool {
	if len(c.Webhook.ExpectedStatus) > 0 {
		return c.isListed(status)
	}
	return status >= 200 && status <= 299
}

// escaped is a key as it can stand in a quoted string of a header. Different keys stay different.
func escaped(key string) string {
	var b strings.Builder
	for _, c := range []byte(key) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
