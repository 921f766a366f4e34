/** Version of the product; compatible with Karpenter's 1.14 API and settings. */
export const VERSION = '0.1.0';
