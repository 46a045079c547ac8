/** Players by points, most first; the same points by name. */
export function leaderboard(players) {
  return [...players].sort((a, b) => (a.points === b.points ? a.name.localeCompare(b.name) : a.points - b.points));
}

/** Points of a game: three for a win, one for a draw. */
export function points(games) {
  return games.reduce((sum, game) => sum + (game === 'win' ? 3 : game === 'draw' ? 1 : 0), 0);
}
