import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isNear, rangeOf, type AddressRange } from './ip-address.ts';

const cases: Readonly<Record<AddressRange, string>> = {
  public:
    '1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 ' +
    '169.253.255.255 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 ' +
    '198.20.0.0 223.255.255.255 2001:4860:4860::8888 2606:4700::1111 2a00:1450:4001:80b::200e',
  loopback: '127.0.0.1 127.0.0.0 127.255.255.255 127.1.2.3 ::1 ::ffff:127.0.0.1 ::ffff:7f00:1',
  private:
    '10.0.0.0 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255 fc00::1 ' +
    'fd12:3456::1 fdff:ffff::1 ::ffff:10.0.0.1 ::ffff:c0a8:1',
  shared: '100.64.0.0 100.64.0.1 100.100.100.100 100.127.255.255 ::ffff:100.64.0.1',
  special:
    // IPv4
    '0.0.0.0 0.1.2.3 169.254.169.254 192.0.0.1 192.0.2.1 192.88.99.1 ' +
    '198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 ' +
    '255.255.255.255 ' +
    // IPv4 inside IPv6: compatible, mapped, translated, NAT64 (both prefixes), Teredo, 6to4
    ':: ::7f00:1 ::127.0.0.1 ::10.0.0.1 ::ffff:169.254.169.254 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 ' +
    '64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b:1::7f00:1 2001::7f00:1 2002:7f00:1::1 ' +
    // IPv6
    '100::1 100:0:0:1::1 2001:2::1 2001:10::1 2001:db8::1 3fff::1 4000::1 5f00::1 fe80::1 ' +
    'febf::1 fec0::1 ff02::1 1fff:ffff::1 ' +
    // No address
    'localhost 127.1 2130706433 0x7f.0.0.1 fe80::1%lo ::1%lo [::1] 127.0.0.1. 256.1.1.1',
};

test('what is not known to be public is not public', () => {
  const ranges = (Object.keys(cases) as AddressRange[]).map((range) => [
    range,
    cases[range].split(' ').filter((address) => rangeOf(address) !== range),
  ]);
  assert.deepEqual(Object.fromEntries(ranges), {
    public: [],
    loopback: [],
    private: [],
    shared: [],
    special: [],
  });
});

test('near is this machine and every private network', () => {
  const near = `${cases.loopback} ${cases.private} ${cases.shared} 0.0.0.0 ::`.split(' ');
  assert.deepEqual(
    near.filter((address) => !isNear(address)),
    [],
  );
  const far = `${cases.public} ${cases.special}`.split(' ').filter((one) => !near.includes(one));
  assert.deepEqual(far.filter(isNear), []);
});
