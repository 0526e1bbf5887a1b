import { baseUrlProblem, urlProblem } from "../../lib/options/problem";

describe("a URL in options (RFC 8414 §2, RFC 8707 §2)", () => {
  it.each([
    ["https://host.example", undefined],
    ["https://host.example/", undefined],
    ["https://host.example:8443/login", undefined],
    ["http://localhost:3000/login", undefined],
    ["http://127.0.0.1:3000", undefined],
    ["http://[::1]:3000", undefined],
    ["host.example", "url-not-absolute"],
    ["http://host.example", "url-not-https"],
    ["http://localhost.example", "url-not-https"],
    ["ftp://localhost", "url-not-https"],
    ["ftp://host.example", "url-not-https"],
    ["https://host.example?", "url-with-query-or-fragment"],
    ["https://host.example#", "url-with-query-or-fragment"],
    ["https://name@host.example", "url-with-user-or-password"],
    ["https://:word@host.example", "url-with-user-or-password"],
    ["https://name:word@host.example", "url-with-user-or-password"],
    ["https://host.example/a/./b", "url-not-normal"],
    ["https://HOST.example", "url-not-normal"],
    ["https://host.example:443", "url-not-normal"],
    ["https://bücher.example/", "url-not-normal"],
    ["http://north.localhost:3000", undefined],
    ["http://north.localhost.:3000", "url-not-https"],
    ["http://northlocalhost:3000", "url-not-https"],
  ])("%s: %s", (url, code) => {
    expect(urlProblem(url)?.code).toBe(code);
    expect(baseUrlProblem(url)?.code).toBe(code ?? (url.endsWith("/") ? "url-ends-with-slash" : undefined));
  });

  it.each([
    ["https://host.example/a/./b", "https://host.example/a/b"],
    ["https://HOST.example", "https://host.example"],
    ["https://host.example:443/", "https://host.example/"],
    ["https://bücher.example/", "https://xn--bcher-kva.example/"],
  ])("%s is told its normal form, %s (RFC 3986 §6.2)", (url, normal) => {
    expect(urlProblem(url)?.problem).toBe(`is not in its normal form, ${normal}`);
  });
});
