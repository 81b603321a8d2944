// Starts the page when all is defined.
{
  const app = new App(JSON.parse(byId('data').textContent));
  if (app.live) app.link = new Link(app);
}
