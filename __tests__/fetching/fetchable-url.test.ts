import { isFetchableUrl } from "../../lib/fetching/fetchable-url";
import { publicAddresses, theseAddresses } from "../../lib/fetching/public-address";

const safely = { insecureLoopback: false };
const loosely = { insecureLoopback: true };

const good = [
  "https://client.example/",
  "https://client.example/client.json",
  "https://a.b.client.example/a/b?c=d&e",
  "https://xn--mnchen-3ya.example/",
  "https://1client.example/",
  "https://1.2.3.4.example/",
  "https://a_b.example/%7Ea/..b/.c/%2F",
  `https://${"a.".repeat(124)}clien/`,
  `https://client.example/${"a".repeat(1_977)}`,
];

/** Never fetched, whatever the options. */
const bad = [
  ["no URL", "client.example"],
  ["nothing", ""],
  ["http", "http://client.example/"],
  ["ftp", "ftp://client.example/"],
  ["file", "file:///etc/passwd"],
  ["data", "data:application/json,{}"],
  ["blob", "blob:https://client.example/x"],
  ["javascript", "javascript:alert(1)"],
  ["gopher", "gopher://client.example/"],
  ["wss", "wss://client.example/"],
  ["a scheme in upper case", "HTTPS://client.example/"],
  ["no slashes", "https:client.example/"],
  ["three slashes", "https:///client.example/"],
  ["another port", "https://client.example:8443/"],
  ["port 80", "https://client.example:80/"],
  ["port 0", "https://client.example:0/"],
  ["the default port written out", "https://client.example:443/"],
  ["an empty port", "https://client.example:/"],
  ["a user", "https://user@client.example/"],
  ["a user and a password", "https://user:password@client.example/"],
  ["a password", "https://:password@client.example/"],
  ["empty user info", "https://@client.example/"],
  ["another host as the user", "https://good.example@client.example/"],
  ["a fragment", "https://client.example/#a"],
  ["an empty fragment", "https://client.example/#"],
  ["a fragment after a query", "https://client.example/?a#b"],
  ["no path", "https://client.example"],
  ["a query without a path", "https://client.example?a"],
  ["an upper-case host", "https://Client.example/"],
  ["a dot segment", "https://client.example/a/../b"],
  ["a single dot segment", "https://client.example/./b"],
  ["a dot segment at the end", "https://client.example/a/.."],
  ["an encoded dot segment", "https://client.example/a/%2e%2E/b"],
  ["backslashes", "https:\\\\client.example\\"],
  ["a backslash in the path", "https://client.example/a\\b"],
  ["a backslash before the host", "https://good.example\\@client.example/"],
  ["a tab", "https://client.exam\tple/"],
  ["a line end", "https://client.example/\r\nX: y"],
  ["a space in front", " https://client.example/"],
  ["a space at the end", "https://client.example/ "],
  ["a NUL", "https://client.example/\0"],
  ["a host that is not ASCII", "https://münchen.example/"],
  ["a path that is not ASCII", "https://client.example/ä"],
  ["full-width dots", "https://client。example/"],
  ["a percent-encoded host", "https://client%2eexample/"],
  ["a host with a trailing dot", "https://client.example./"],
  ["a host with an empty label", "https://client..example/"],
  ["a host with a leading dot", "https://.client.example/"],
  ["a host without a dot", "https://intranet/"],
  ["a host without a dot but a trailing one", "https://intranet./"],
  ["an asterisk", "https://*.example/"],
  ["a label of 64 characters", `https://${"a".repeat(64)}.example/`],
  ["a host of 254 characters", `https://${"a.".repeat(124)}client/`],
  ["a URL of 2,001 characters", `https://client.example/${"a".repeat(1_978)}`],
  ["a name below localhost", "https://a.localhost/"],
  ["localhost with a trailing dot", "https://localhost./"],
  ["localhost as a label", "https://localhost.localhost/"],
  ["a name that begins like localhost, without a dot", "https://localhosts/"],
  ["another scheme on localhost", "ftp://localhost/"],
  ["a scheme that ends like http on localhost", "xhttp://localhost/"],
  ["a user on localhost", "http://user@localhost/"],
  ["a fragment on localhost", "http://localhost/#a"],
  ["the default port on localhost", "http://localhost:80/"],
  ["another loopback address", "https://127.0.0.2/"],
  ["a decimal address", "https://2130706433/"],
  ["a hexadecimal address", "https://0x7f000001/"],
  ["a dotted hexadecimal address", "https://0x7f.0.0.1/"],
  ["an octal address", "https://0177.0.0.1/"],
  ["a short address", "https://127.1/"],
  ["an address with a trailing dot", "https://127.0.0.1./"],
  ["an address in full-width digits", "https://１２７.0.0.1/"],
  ["0.0.0.0", "https://0.0.0.0/"],
  ["the address of cloud metadata", "https://169.254.169.254/"],
  ["the same over http", "http://169.254.169.254/latest/meta-data/"],
  ["a public address", "https://93.184.215.14/"],
  ["a number at the end of the name", "https://client.1/"],
  ["an unspecified IPv6 address", "https://[::]/"],
  ["a public IPv6 address", "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/"],
  ["a mapped address", "https://[::ffff:7f00:1]/"],
  ["a mapped address with dots", "https://[::ffff:127.0.0.1]/"],
  ["a compatible address", "https://[::7f00:1]/"],
  ["a NAT64 address", "https://[64:ff9b::a9fe:a9fe]/"],
  ["a 6to4 address", "https://[2002:7f00:1::]/"],
  ["a link-local address", "https://[fe80::1]/"],
  ["a link-local address with a zone", "https://[fe80::1%25eth0]/"],
  ["a long loopback address", "https://[0:0:0:0:0:0:0:1]/"],
] as const;

const loopback = [
  "http://localhost/",
  "https://localhost/",
  "http://localhost:3000/a?b",
  "http://127.0.0.1:3000/",
  "https://127.0.0.1/",
  "http://[::1]:3000/",
  "https://[::1]/",
];

describe("a URL that may be fetched (RFC 3986 §6.2, RFC 9728 §7.7)", () => {
  it.each(good)("%s", (url) => {
    expect(isFetchableUrl(url, safely)).toBe(true);
    expect(isFetchableUrl(url, loosely)).toBe(true);
  });

  it.each(bad)("is not one with %s", (_, url) => {
    expect(isFetchableUrl(url, safely)).toBe(false);
    expect(isFetchableUrl(url, loosely)).toBe(false);
  });

  it.each(loopback)("is %s only with insecureLoopback", (url) => {
    expect(isFetchableUrl(url, safely)).toBe(false);
    expect(isFetchableUrl(url, loosely)).toBe(true);
  });
});

/** First and last addresses of what must not be reached. */
const special =
  `
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.0.0.1
  127.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0
  192.0.0.255 192.0.2.0 192.0.2.255 192.31.196.1 192.52.193.1 192.88.99.0 192.88.99.255 192.168.0.0
  192.168.255.255 192.175.48.1 198.18.0.0 198.19.255.255 198.51.100.0 198.51.100.255 203.0.113.0
  203.0.113.255 224.0.0.0 239.255.255.255 240.0.0.0 255.255.255.255 :: ::1 ::ffff:8.8.8.8
  ::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1 ::ffff:0:7f00:1 64:ff9b::7f00:1 64:ff9b::808:808
  64:ff9b:1::1 100::1 100:0:0:1::1 1fff:ffff::1 2001:: 2001::1 2001:1ff:ffff::1 2001:db8::
  2001:db8:ffff:ffff::1 2002:: 2002:7f00:1:: 2002:ffff:ffff::1 2620:4f:8000::1 3fff:: 3fff:fff:ffff::1
  4000:: 5f00::1 fc00::1 fd00:ec2::254 fdff:ffff::1 fe80::1 fe80::1%eth0 2606:4700::1%eth0 fec0::1
  ff02::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff localhost 2130706433 0x7f.0.0.1 0177.0.0.1 127.1
  [::1]
`.match(/\S+/g) ?? [];

/** The neighbours of these, and some that are used. */
const ordinary =
  `
  1.0.0.0 8.8.8.8 9.255.255.255 11.0.0.0 93.184.215.14 100.63.255.255 100.128.0.0 126.255.255.255
  128.0.0.0 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0
  192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255
  198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 2000:: 2000::1 2001:200::1 2001:db7:ffff::1
  2001:db9:: 2003::1 2606:2800:21f:cb07::1 2620:4f:7fff::1 2620:4f:8001::1 2a00:1450:4001::1 3ffe::1
  3fff:1000::1
`.match(/\S+/g) ?? [];

describe("public addresses (RFC 6890 §2.2)", () => {
  it.each([...special, "", "8.8.8.8 "])("are not %j", (address) =>
    expect(publicAddresses()(address)).toBe(false),
  );

  it.each(ordinary)("are such as %s", (address) => expect(publicAddresses()(address)).toBe(true));

  it("are not unknown ones", () => expect(publicAddresses()(undefined)).toBe(false));
});

function isOneOfTwo(address: string | undefined): boolean {
  return theseAddresses(["93.184.215.14", "2606:2800:21f:cb07::1"])(address);
}

describe("the address at the other end (RFC 9728 §7.7)", () => {
  it.each(["93.184.215.14", "2606:2800:21f:cb07::1", "2606:2800:021f:cb07:0:0:0:1"])("is %s", (address) =>
    expect(isOneOfTwo(address)).toBe(true),
  );

  it.each([
    "93.184.215.15",
    "2606:2800:21f:cb07::2",
    "2606:2800:21f:cb07::1%lo",
    "127.0.0.1",
    "::1",
    "",
    undefined,
  ])("is not %j", (address) => expect(isOneOfTwo(address)).toBe(false));
});
