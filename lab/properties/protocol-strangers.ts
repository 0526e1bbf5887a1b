/** What the server of the protocol model needs for clients that it has not registered: their document, their messages, and the host's word. */
import { request } from "node:http";
import type { RegistrationDecision, TokenDecision, TokenDecisionRequest } from "../../lib";
import { documentServer } from "../../__tests__/servers/document-server";
import type { Answer } from "../../__tests__/hosts/listening";
import { documentOf, documentRedirects } from "./protocol-clients";
import { apiOptionsWith } from "./protocol-world";

/** POSTs a JSON text on a connection of its own. */
export function postJson(port: number, { path, text }: { path: string; text: string }): Promise<Answer> {
  const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, method: "POST", headers, agent: false } as const;
    const outgoing = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const { headers: received, statusCode: status = 0 } = response;
        const answered = Buffer.concat(chunks).toString();
        const body = JSON.parse(answered) as Answer["body"];
        resolve({ status, headers: received, text: answered, body });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(text);
  });
}

/** The web server of a stranger, with the document of one client. */
export async function strangersDocument(): Promise<{
  readonly url: string;
  publish(edition: number): void;
  close(): Promise<void>;
}> {
  const server = await documentServer();
  const url = server.url("/client");
  const publish = (edition: number): void =>
    void server.documents.set("/client", { body: documentOf({ id: url, edition }) });
  publish(0);
  return { url, publish, close: () => server.close() };
}

/** What the host says, and what it was asked. */
export interface HostWords {
  /** What the host answers when it is asked about a token. */
  decide: () => unknown;
  /** What it was asked about tokens since the last step. */
  questions: TokenDecisionRequest[];
  /** What the host answers when a client registers itself. */
  approveClient: () => RegistrationDecision;
  /** How many clients it was asked about since the last step. */
  guestsAsked: number;
}

/** The host's adapters: what they answer is set on the server, step by step. */
export function adaptersOf(current: () => HostWords): {
  readonly tokens: { decide(asked: TokenDecisionRequest): TokenDecision };
  readonly apis: ReturnType<typeof apiOptionsWith>;
} {
  const redirectOrigins = documentRedirects.filter((uri) => uri.startsWith("https:"));
  return {
    tokens: {
      decide(asked: TokenDecisionRequest) {
        const server = current();
        server.questions.push(asked);
        return server.decide() as TokenDecision;
      },
    },
    apis: apiOptionsWith({
      accept: () => ({
        kind: "accepted",
        redirectOrigins: redirectOrigins.map((uri) => new URL(uri).origin),
      }),
      approve() {
        const server = current();
        server.guestsAsked += 1;
        return server.approveClient();
      },
    }),
  };
}
