const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The lower-case form with hyphens, or undefined when the text is not a UUID. */
export const normaliseUuid = (text: string): string | undefined => {
  if (FORM.test(text)) return text;
  const lower = text.toLowerCase();
  return FORM.test(lower) ? lower : undefined;
};

/** The 16 bytes of a UUID in its normal form. */
export const uuidToBytes = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');

/** The normal form of 16 bytes. */
export const uuidFromBytes = (bytes: Uint8Array): string => {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

export const NIL_UUID = '00000000-0000-0000-0000-000000000000';
