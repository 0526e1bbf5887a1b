/** Which IP addresses are public, so that no URL of a stranger leads into the host's own network. RFC 6890 §2.2.2, §2.2.3. */
import { BlockList, isIP } from "node:net";

/**
 * The IANA registry of special-purpose IPv4 addresses, with multicast. The AS112 and AMT prefixes are reachable, but what answers
 * there is often a device of one's own network, and no document is published there.
 */
const specialIpv4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];

/** Everything public is in here, so mapped, translated (NAT64), unique local and link-local addresses are outside. */
const globalIpv6 = "2000::/3";

/** The IANA registry of special-purpose IPv6 addresses, as far as they are within `globalIpv6`: Teredo, documentation, 6to4, AS112 … */
const specialIpv6 = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"];

type Family = "ipv4" | "ipv6";

/** The family of an IP address, `undefined` for anything else. A zone index is never part of a public address. */
function familyOf(address: string): Family | undefined {
  const version = address.includes("%") ? 0 : isIP(address);
  return version === 0 ? undefined : version === 4 ? "ipv4" : "ipv6";
}

function listOf(subnets: readonly string[], family: Family): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network = "", prefix] = subnet.split("/");
    list.addSubnet(network, Number(prefix), family);
  }
  return list;
}

/** True for the addresses that something is allowed to lead to. */
export type AddressCheck = (address: string | undefined) => boolean;

/** A check for public unicast addresses. */
export function publicAddresses(): AddressCheck {
  const refusedIpv4 = listOf(specialIpv4, "ipv4");
  const allowedIpv6 = listOf([globalIpv6], "ipv6");
  const refusedIpv6 = listOf(specialIpv6, "ipv6");
  return (address = "") => {
    const family = familyOf(address);
    if (family === "ipv4") return !refusedIpv4.check(address, family);
    return family === "ipv6" && allowedIpv6.check(address, family) && !refusedIpv6.check(address, family);
  };
}

/** A check for exactly these addresses, however they are written. */
export function theseAddresses(addresses: readonly string[]): AddressCheck {
  const list = new BlockList();
  for (const address of addresses) list.addAddress(address, familyOf(address));
  return (address = "") => {
    const family = familyOf(address);
    return family !== undefined && list.check(address, family);
  };
}
