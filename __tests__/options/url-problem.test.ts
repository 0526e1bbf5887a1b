import { baseUrlProblem, urlProblem } from "../../lib/options/url-problem";

describe("a URL in options (RFC 8414 §2, RFC 8707 §2)", () => {
  it.each([
    ["https://host.example", undefined],
    ["https://host.example/", undefined],
    ["https://host.example:8443/login", undefined],
    ["http://localhost:3000/login", undefined],
    ["http://127.0.0.1:3000", undefined],
    ["http://[::1]:3000", undefined],
    ["host.example", "is not an absolute URL"],
    ["http://host.example", "must be https"],
    ["http://localhost.example", "must be https"],
    ["ftp://localhost", "must be https"],
    ["ftp://host.example", "must be https"],
    ["https://host.example?", "must have neither query nor fragment"],
    ["https://host.example#", "must have neither query nor fragment"],
    ["https://name@host.example", "must not contain a user name or password"],
    ["https://:word@host.example", "must not contain a user name or password"],
    ["https://name:word@host.example", "must not contain a user name or password"],
    ["https://host.example/a/./b", "is not in its normal form, https://host.example/a/b"],
    ["https://HOST.example", "is not in its normal form, https://host.example"],
    ["https://host.example:443", "is not in its normal form, https://host.example"],
    ["https://bücher.example/", "is not in its normal form, https://xn--bcher-kva.example/"],
    ["http://north.localhost:3000", undefined],
    ["http://north.localhost.:3000", "must be https"],
    ["http://northlocalhost:3000", "must be https"],
  ])("%s: %s", (url, problem) => {
    expect(urlProblem(url)).toBe(problem);
    expect(baseUrlProblem(url)).toBe(problem ?? (url.endsWith("/") ? "ends with a slash" : undefined));
  });
});
