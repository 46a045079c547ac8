/** The tax on a net price in cents: 19 per cent. */
export function vat(cents) {
  return (cents * 18) / 100;
}
