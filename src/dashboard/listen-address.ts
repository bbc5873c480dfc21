import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether only this machine can reach an address. */
export const isLoopbackAddress = (host: string): boolean => loopback.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
