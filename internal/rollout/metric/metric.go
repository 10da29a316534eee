// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/rollout/outbound"
)

const (
	// timeout of one question.
	timeout = 30 * time.Second
	// maxBody is how many bytes an answer may have.
	maxBody = 1 << 20
)

// Question is what one sample is taken by.
type Question struct {
	// Key names the sample: another one is another sample.
	Key string
	// Provider that is asked. Its secretRef has been read by whoever asks.
	Provider    rolloutv1alpha1.MetricProvider
	Credentials outbound.Credentials
	// Query, filled in.
	Query string
}

// Errand is the question as something that a desk can have done.
func Errand(client *outbound.Client, q Question) errand.Errand[measure.Sample] {
	ask := askPrometheus
	if q.Provider.Type == rolloutv1alpha1.WebProvider {
		ask = askWeb
	}
	return errand.Errand[measure.Sample]{
		Key: q.Key, Version: q.version(),
		Try: func(ctx context.Context) errand.Attempt[measure.Sample] { return ask(ctx, client, q) },
	}
}

// CredentialsOf reads a Secret: "token", or "username" and "password". Line ends around them, which editors add, are left out.
// The error names keys and no values.
func CredentialsOf(secret map[string][]byte) (outbound.Credentials, error) {
	value := func(key string) string { return strings.Trim(string(secret[key]), "\r\n") }
	_, hasUser := secret["username"]
	_, hasPassword := secret["password"]
	_, hasToken := secret["token"]
	c := outbound.Credentials{Username: value("username"), Password: value("password"), Token: value("token")}
	switch {
	case hasToken && (hasUser || hasPassword):
		return outbound.Credentials{}, errors.New(`it has both a "token" and a "username" or "password": leave one of them`)
	case hasToken && strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return outbound.Credentials{}, errors.New(`its "token" has characters that no header can have`)
	case hasToken && c.Token != "", hasUser && hasPassword && c.Username != "":
		return c, nil
	default:
		return outbound.Credentials{}, errors.New(`it needs "token", or "username" and "password"`)
	}
}

func (q Question) visit() outbound.Visit {
	return outbound.Visit{
		Address: q.Provider.Address, Credentials: q.Credentials, InsecureSkipVerify: q.Provider.InsecureSkipVerify,
		Timeout: timeout, MaxBody: maxBody,
	}
}

// version is another one when anything is that the answer depends on.
func (q Question) version() string {
	text, err := json.Marshal(q)
	if err != nil {
		panic(fmt.Sprintf("metric: strings and booleans always have a JSON form: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func fault(why string) errand.Attempt[measure.Sample] {
	return errand.Done(measure.Sample{Kind: measure.Fault, Message: why})
}

// unanswered is what follows when there was no usable answer: err is why, and text is what the other side said about it.
func unanswered(visit outbound.Visit, trace outbound.Trace, err error, text string) errand.Attempt[measure.Sample] {
	var long *http.MaxBytesError
	said := visit.Words(trace, text)
	switch {
	case errors.Is(err, outbound.ErrRefused):
		return fault("it is not asked: " + err.Error())
	case errors.As(err, &long):
		return fault(err.Error())
	case outbound.IsTemporary(trace.Status):
		return errand.Again[measure.Sample](said, trace.RetryAfter)
	case trace.Status >= 200 && trace.Status <= 299 && err != nil, trace.Status == 0:
		return errand.Again[measure.Sample]("it gives no answer: "+err.Error(), 0)
	default:
		return fault(said)
	}
}
