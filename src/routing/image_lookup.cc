#include "routing/image_lookup.h"

#include <utility>

namespace glovebox::routing {

Task<> find_image(images::ImageService& images, const templates::ProjectTemplates& templates,
                  std::string project, std::string template_name, ProfileRequest& profile) {
  if (!profile.image.empty()) {
    CO_TRY(profile.image_use, co_await images.use(std::move(project), profile.image));
    co_return Result<>();
  }
  const store::TemplateRecord* own =
      template_name.empty() ? nullptr : templates.find(project, template_name);
  if (own == nullptr || own->definition.image.empty()) co_return Result<>();
  std::string name = own->image_name;
  CO_TRY(ImageUse image, co_await images.use(std::move(project), own->definition.image));
  image.name = std::move(name);
  profile.image_use = std::move(image);
  co_return Result<>();
}

}  // namespace glovebox::routing
