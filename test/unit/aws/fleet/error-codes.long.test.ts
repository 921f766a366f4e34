/** Every classified error code, and random codes. */
import fc from 'fast-check';
import { classOf, KNOWN_CODES } from '../../../../src/aws/error-codes.ts';
import { describeAttempts } from './attempts-law.ts';

const randomCodes = fc.sample(
  fc.stringMatching(/^[A-Z][A-Za-z]{2,20}(\.[A-Z][a-z]{2,10})?$/).filter((code) => classOf(code) === 'unknown'),
  { numRuns: 20, seed: 67 },
);

describeAttempts([...KNOWN_CODES, ...randomCodes]);
