// SPDX-License-Identifier: Apache-2.0

// Package metric asks the providers of metrics for one number. It knows how Prometheus and JSON documents are asked, and which
// answers are a number, no data, or of no use. What is asked, and what a number means, is decided elsewhere (package measure).
//
// Prometheus evaluates the query at its own time. The query has to give a scalar, or a vector with one sample. A document of the web is
// got, and a JSONPath into it has to find one number, or a string that is one.
//
// No answer, and the statuses 408, 425, 429 and 500 to 599, have the question asked again, for as long as it takes. Any other
// answer that is not a number is a fault, which is the sample of that time.
package metric
