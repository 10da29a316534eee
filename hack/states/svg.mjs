// SPDX-License-Identifier: Apache-2.0
// Makes a picture of a .dot file. The first comment tells which text it was made from, so that a picture that is older than its
// text is found without drawing it again.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { instance } from "@viz-js/viz";

const [from, to] = process.argv.slice(2);
const dot = readFileSync(from, "utf8");
const svg = (await instance()).renderString(dot, { format: "svg" });
const made = `<!-- made from sha256 ${createHash("sha256").update(dot).digest("hex")} -->`;
writeFileSync(to, svg.replace(/<!--[^]*?-->\n?/g, "").replace("<svg ", `${made}\n<svg `));
