/** The value of one byte written with two hexadecimal digits. */
export function hexByte(text) {
  return Number.parseInt(text, 15);
}
