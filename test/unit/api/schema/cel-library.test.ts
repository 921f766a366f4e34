/** The functions of Kubernetes' libraries, by the examples of its documentation. */
import { describe, expect, it } from '@jest/globals';
import { celCompiler } from '../../../../src/api/schema/cel.ts';

const compile = celCompiler(['object']);
const counted = celCompiler(['object'], undefined, true);
const evaluated = (expression: string): unknown => compile(expression).run({ object: {} });

/** Expressions that are true. */
const TRUE: Readonly<Record<string, readonly string[]>> = {
  ip: [
    "string(ip('127.0.0.1')) == '127.0.0.1'",
    "isIP('127.0.0.1') && isIP('::1') && isIP('1:2::3.4.5.6')",
    "!isIP('127.0.0.256') && !isIP(':::1') && !isIP('01.2.3.4') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')",
    "ip.isCanonical('127.0.0.1') && ip.isCanonical('2001:db8::abcd')",
    "!ip.isCanonical('2001:DB8::ABCD') && !ip.isCanonical('2001:db8::0:0:0:abcd')",
    "ip('127.0.0.1').family() == 4 && ip('::1').family() == 6",
    "ip('0.0.0.0').isUnspecified() && ip('::').isUnspecified() && !ip('127.0.0.1').isUnspecified()",
    "ip('127.0.0.1').isLoopback() && ip('::1').isLoopback() && !ip('192.168.0.1').isLoopback()",
    "ip('224.0.0.1').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast()",
    "ip('ff02::1').isLinkLocalMulticast() && !ip('fd00::1').isLinkLocalMulticast()",
    "ip('169.254.169.254').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()",
    "!ip('192.168.0.1').isLinkLocalUnicast() && !ip('fd80::1').isLinkLocalUnicast()",
    "ip('192.168.0.1').isGlobalUnicast() && ip('2001:db8::abcd').isGlobalUnicast()",
    "!ip('255.255.255.255').isGlobalUnicast() && !ip('ff00::1').isGlobalUnicast()",
    "ip('2001:db8::1') == ip('2001:DB8:0::1') && ip('1.2.3.4') != ip('1.2.3.5')",
    "string(ip('2001:db8:0:0:1:0:0:1')) == '2001:db8::1:0:0:1' && string(ip('0::0')) == '::'",
  ],
  cidr: [
    "isCIDR('192.168.0.0/16') && isCIDR('::1/128')",
    "!isCIDR('192.168.0.0/33') && !isCIDR('::1/129') && !isCIDR('192.168.0.0') && !isCIDR('192.168.0.0/08')",
    "cidr('192.168.0.0/24').containsIP(ip('192.168.0.1')) && !cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))",
    "cidr('192.168.0.0/24').containsIP('192.168.0.1') && !cidr('192.168.0.0/24').containsIP('192.168.1.1')",
    "cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24'))",
    "cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24') && !cidr('192.168.1.0/24').containsCIDR('192.168.2.0/24')",
    "cidr('192.168.0.1/24').ip() == ip('192.168.0.1') && cidr('::1/128').ip().family() == 6",
    "cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24') && cidr('192.168.0.1/24') != cidr('192.168.0.0/24')",
    "cidr('192.168.0.0/16').prefixLength() == 16 && cidr('::1/128').prefixLength() == 128",
    "!cidr('0.0.0.0/0').containsIP('::1')",
  ],
  url: [
    "isURL('https://user:pass@example.com:80/path?query=val#fragment') && isURL('/absolute-path')",
    "!isURL('https://a:b:c/') && !isURL('../relative-path') && !isURL('') && !isURL('http://a b/')",
    "url('/path').getScheme() == '' && url('HTTPS://example.com/').getScheme() == 'https'",
    "url('https://example.com:80/').getHost() == 'example.com:80' && url('https://[::1]:80/').getHost() == '[::1]:80'",
    "url('https://[::1]:80/').getHostname() == '::1' && url('https://example.com:80/').getHostname() == 'example.com'",
    "url('/path').getHostname() == '' && url('https://127.0.0.1:80/').getHostname() == '127.0.0.1'",
    "url('https://example.com:80/').getPort() == '80' && url('https://example.com/').getPort() == ''",
    "url('https://example.com/path with spaces/').getEscapedPath() == '/path%20with%20spaces/'",
    "url('https://example.com').getEscapedPath() == '' && url('https://example.com/a%2Fb').getEscapedPath() == '/a%2Fb'",
    "url('https://example.com/path?k1=a&k2=b&k2=c').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']}",
    "url('https://example.com/path?key with spaces=value with spaces').getQuery()['key with spaces'][0] == 'value with spaces'",
    "url('https://example.com/path?').getQuery() == {} && url('https://example.com/path').getQuery() == {}",
  ],
  semver: [
    "isSemver('1.0.0') && isSemver('0.1.0-alpha.1') && !isSemver('hello') && !isSemver('v1.0') && !isSemver('01.0.0')",
    "isSemver('v1.0', true) && isSemver('1.0', true) && isSemver('01.01.01', true) && !isSemver('1.0-rc', true)",
    "semver('v01.02.03', true) == semver('1.2.3') && semver('1', true).compareTo(semver('1.0.0')) == 0",
    "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3",
    "semver('1.2.3').compareTo(semver('1.2.3')) == 0 && semver('1.2.3').compareTo(semver('2.0.0')) == -1",
    "semver('1.2.3').compareTo(semver('0.1.2')) == 1 && semver('1.2.3').isLessThan(semver('1.10.0'))",
    "semver('1.0.0-alpha').isLessThan(semver('1.0.0-alpha.1')) && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
    "semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10')) && semver('1.0.0-1').isLessThan(semver('1.0.0-a'))",
    "semver('1.0.0+a').compareTo(semver('1.0.0+b')) == 0 && semver('2.0.0').isGreaterThan(semver('1.9.9'))",
  ],
  quantity: [
    "isQuantity('1.3Gi') && isQuantity('200K') == false && isQuantity('Three') == false",
    "quantity('50k').add(20) == quantity('50020') && quantity('50k').sub(quantity('20k')) == quantity('30k')",
    "quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('50Mi').isLessThan(quantity('100Mi'))",
    "quantity('50000000G').isInteger() && quantity('50k').asInteger() == 50000 && quantity('50k').sub(quantity('50k')).sign() == 0",
  ],
  format: [
    "!format.dns1123Label().validate('my-label-name').hasValue() && format.dns1123Label().validate('My').hasValue()",
    "!format.dns1123Subdomain().validate('apiextensions.k8s.io').hasValue()",
    "!format.dns1035Label().validate('my-label-name').hasValue() && format.dns1035Label().validate('1a').hasValue()",
    "!format.qualifiedName().validate('apiextensions.k8s.io/v1beta1').hasValue()",
    "!format.dns1123LabelPrefix().validate('my-label-prefix-').hasValue()",
    "!format.labelValue().validate('').hasValue() && format.labelValue().validate('a b').hasValue()",
    "!format.uri().validate('http://example.com').hasValue() && format.uri().validate('../a').hasValue()",
    "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
    "!format.byte().validate('aGVsbG8=').hasValue() && format.byte().validate('aGVsbG8').hasValue()",
    "!format.date().validate('2021-01-01').hasValue() && format.date().validate('2021-02-30').hasValue()",
    "!format.datetime().validate('2021-01-01T00:00:00Z').hasValue() && format.datetime().validate('now').hasValue()",
    "format.named('dns1123Label').hasValue() && !format.named('nothing').hasValue()",
    "format.dns1123Label().validate('My').value().size() == 1",
  ],
  sets: [
    'sets.contains([1, 2, 3], [2, 3]) && !sets.contains([1], [1, 2]) && sets.contains([], [])',
    "sets.equivalent([1, 1, 2], [2, 1]) && !sets.equivalent(['a'], ['b']) && sets.equivalent([], [])",
    'sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], []) && sets.intersects([[1], [2]], [[2], [3]])',
  ],
  text: [
    "'%s has %d of %s'.format(['a', 3, [1, 'b']]) == 'a has 3 of [1, b]'",
    "'%.2f %e %x %X %o %b %%'.format([1.234, 1.0, 255, 255, 8, 5]) == '1.23 1.000000e+00 ff FF 10 101 %'",
    "'%s %s'.format([timestamp('2026-01-01T00:00:00Z'), timestamp('2026-01-01T00:00:00.5Z')]) == '2026-01-01T00:00:00Z 2026-01-01T00:00:00.5Z'",
    "'%s'.format([{'b': true, 'a': null}]) == '{a: null, b: true}'",
    "'abc 123'.find('[0-9]+') == '123' && '123 abc 456'.findAll('[0-9]+', 1) == ['123']",
  ],
  lists: [
    '[1, 2].isSorted() && [1, 3].sum() == 4 && [3, 1].min() == 1 && [3, 1].max() == 3',
    "['a', 'b', 'a'].indexOf('a') == 0 && ['a', 'b', 'a'].lastIndexOf('a') == 2",
  ],
};

describe.each(Object.entries(TRUE))('the library %s', (_, expressions) => {
  it.each(expressions)('has %s true', (expression) => {
    expect(compile(expression).fault).toBeUndefined();
    expect(evaluated(expression)).toBe(true);
    // what counts changes no value
    expect(counted(expression).run({ object: {} })).toBe(true);
  });
});

describe('what cannot be read', () => {
  it.each([
    ["ip('127.0.0.256')", 'IP Address "127.0.0.256" parse error during conversion from string'],
    ["ip('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'],
    ["ip('fe80::1%eth0')", 'IP address "fe80::1%eth0" with zone value is not allowed'],
    ["cidr('192.168.0.0/33')", 'network address parse error during conversion from string'],
    ["url('https://a:b:c/')", 'URL parse error during conversion from string'],
    ["url('../relative-path')", 'invalid URI for request'],
    ["semver('Three')", '"Three" is not a semantic version'],
    ["semver('1.0+b', true)", 'short version cannot contain PreRelease/Build meta data'],
    ["quantity('Three')", 'Cannot read quantity "Three"'],
    ["'%d'.format(['a'])", '%d cannot be used with a value of this type'],
    ["'%s %s'.format(['a'])", 'index 1 out of range'],
  ])('is refused: %s', (expression, message) => {
    expect(() => evaluated(expression)).toThrow(message);
  });
});
