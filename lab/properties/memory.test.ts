// A model of the protocol and the real router over the storage in memory take the same random steps, and agree on every answer.
import { memoryStorage } from "../../lib";
import { checkProperty, expectAgreement } from "./protocol-property";
import { clientRecords, everyone } from "./protocol-clients";
import { hostAnswers } from "./protocol-decisions";

/** Answers that random steps must reach: a model that is never asked agrees with anything. */
const answers = [
  "authorize 200",
  "authorize 302",
  "authorize 302 consent_required",
  "authorize 302 invalid_request",
  "authorize 302 invalid_scope",
  "authorize 302 invalid_target",
  "authorize 302 login_required",
  "authorize 302 unauthorized_client",
  "authorize 302 unsupported_response_type",
  "authorize 303",
  "authorize 303 access_denied",
  "authorize 400",
  "authorize 404 not_found",
  "authorize 302 invalid_request_uri",
  "authorize 303 invalid_request_uri",
  "par 201",
  "par 400 invalid_dpop_proof",
  "par 400 invalid_request",
  "par 400 invalid_scope",
  "par 401 invalid_client",
  "par 404 not_found",
  ...["page", "redirect", "sign-in", "ask", "code"].map((to) => `a pushed request leads to ${to}`),
  "register 201",
  "register 400 invalid_client_metadata",
  "register 400 invalid_redirect_uri",
  "register 400 unapproved_software_statement",
  "register 403 access_denied",
  "register 404 not_found",
  "register 500 server_error",
  "token 200",
  "token 400 invalid_grant",
  "token 400 invalid_request",
  "token 400 invalid_scope",
  "token 400 unauthorized_client",
  "token 401 invalid_client",
  "token 404 not_found",
  "token 500 server_error",
  "token 503 temporarily_unavailable",
  "revoke 200",
  "revoke 400 unsupported_token_type",
  "introspect 200",
  "introspect 400 unauthorized_client",
  "introspect 401 invalid_client",
  "needs 200",
  "needs 401 invalid_token",
  "needs 403 insufficient_scope",
  ...everyone.map((who) => `tokens for ${who}`),
  ...["web", "native", "spa", "signer", "document"].map((who) => `bound tokens for ${who}`),
  "a bound token is called with none: 401",
  "a bound token is called with another: 401",
  "a bound token is called with its key: 200",
  "a bound token is refreshed with none: 400",
  "a bound token is refreshed with another: 400",
  "a bound token is refreshed with its key: 200",
  ...hostAnswers.map((answer) => `the host says ${answer}`),
];

const open = () => ({ storage: memoryStorage({ clients: clientRecords }) });

describe("the model of the protocol (RFC 6749, 7009, 7636, 7662, 9700): memory", () => {
  it("agrees with the server on every answer", () =>
    expectAgreement({ name: "memory", open, sequences: 60 }));

  it("agrees with a server that may answer as it did five seconds ago", () =>
    expectAgreement({ name: "memory with a lag of 5 seconds", open, sequences: 25, lagSeconds: 5 }));

  it("is asked everything that matters", async () => {
    // one seed, so that this depends on the steps and not on chance
    const { seen } = await checkProperty({ name: "memory", open, sequences: 200, seed: 2 });
    const missing = answers.filter((words) => !seen.has(words));
    expect(missing).toEqual([]);
  });
});
